entry main (x: i32) (y: i64) = x + y
