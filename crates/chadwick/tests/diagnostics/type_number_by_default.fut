def scaled x y = x * y
entry main (x: f64) (n: i64): f64 = scaled x (f64.i64 n)
