entry main (x: i32) = grad (\v -> v * v) x
