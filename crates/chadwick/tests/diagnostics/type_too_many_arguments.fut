def f (x: i32) = x
entry main = f 1 2
