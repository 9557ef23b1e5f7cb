type vec [n] = [n]f64
entry main (x: vec f64) = 1
