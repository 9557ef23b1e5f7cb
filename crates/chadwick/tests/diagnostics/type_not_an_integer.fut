entry main (x: f64) = x & 1
