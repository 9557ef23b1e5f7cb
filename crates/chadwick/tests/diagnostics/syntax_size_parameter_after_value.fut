def f (x: i32) [n] (y: [n]i32) = x
entry main = 1
