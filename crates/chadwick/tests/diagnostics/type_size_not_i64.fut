entry main (n: i32) (x: [n]i32) = x
