-- One array in two components of a consuming tuple is rejected.
-- ==
-- error: consumed

def f [n] (xs: [n]i32, ys: *[n]i32) = (ys with [0] = xs[0])[0]
entry bad1 (n: i64) = let xs = replicate n 1i32 in f (xs, xs)
