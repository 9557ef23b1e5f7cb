def apply [n] (f: i64 -> [n]i64) (xs: [n]i64) = map2 (+) (f 4) xs
entry main (x: i64) = apply iota [x, 2, 3]
