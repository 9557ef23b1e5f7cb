-- A local function that captured an array is called after the array is gone.
-- ==
-- error: was consumed

entry main [n] (xs: *[n]i32) = let f (i: i64) = xs[i] let xs[0] = 1 in (f 0, xs)
