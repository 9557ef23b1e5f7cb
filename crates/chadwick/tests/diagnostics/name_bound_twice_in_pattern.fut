entry main (x: i32, x: i32) = x
