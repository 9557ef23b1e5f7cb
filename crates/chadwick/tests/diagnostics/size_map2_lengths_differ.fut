entry main (x: i32) = map2 (+) [x, x] [x]
