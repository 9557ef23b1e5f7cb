entry main (x: f64) = f64.sqroot x
