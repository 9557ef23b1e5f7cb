def f (x: i32) (s: []f64) = f64.i32 x + s[0]
entry main = f 1 2
