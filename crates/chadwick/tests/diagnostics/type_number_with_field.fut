entry main (x: i64): i64 = let s = 5 in s.2 + x
