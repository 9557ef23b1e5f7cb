def f (x: i32) = x
entry main (y: f64) = f y
