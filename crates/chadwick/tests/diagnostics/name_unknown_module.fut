entry main (x: f64) = linalg.dot x
