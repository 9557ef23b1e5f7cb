-- The same for a lambda.
-- ==
-- error: was consumed

entry main [n] (xs: *[n]i32) = let f = \(i: i64) -> xs[i] let xs[0] = 1 in (f 0, xs)
