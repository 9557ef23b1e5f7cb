entry main (x: i32) = assert x 1
