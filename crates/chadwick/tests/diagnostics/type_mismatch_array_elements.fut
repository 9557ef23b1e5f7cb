entry main (x: f64) = [x, true]
