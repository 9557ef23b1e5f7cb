entry main (x: i32) = (x : f64)
