def f (x: i32) (y: i32) = x + y
entry main: i32 = f 1
