entry main (x: f64) = vjp (\v -> f64.i64 (i64.f64 v)) x 1
