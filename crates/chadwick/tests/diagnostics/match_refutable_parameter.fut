def f (1: i32) = 2
entry main = f 1
