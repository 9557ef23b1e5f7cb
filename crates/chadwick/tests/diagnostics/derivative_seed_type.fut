entry main (x: f64) = vjp (\v -> v * v) x true
