def f (x: i32): f64 = x
entry main = f 1
