-- Sizes bound by `let [n]`, written existentials.

-- ==
-- entry: a
-- input { [1i32,-2,3] } output { 2i64 [1i32,3] [0i64,1] }
entry a (xs: []i32) = let [k] (ys: [k]i32) = filter (> 0) xs in (k, ys, iota k)
def f (xs: []i32) : ?[n][m].([n]i32, [m]i32) = (filter (> 0) xs, filter (< 0) xs)

-- ==
-- entry: b
-- input { [1i32,-2,3] } output { 2i64 1i64 }
entry b xs = let [n][m] (a: [n]i32, b: [m]i32) = f xs in (n + length a - n, m + length b - m)
def chunk [n] (k: i64) (xs: [n]i32) : ?[m].[m][k]i32 = let m = n / k in unflatten (take (m * k) xs)

-- ==
-- entry: c
-- input { [1i32,2,3,4,5] } output { [[1i32,2],[3i32,4]] [3i32,7] }
entry c xs = let ys = chunk 2 xs in (ys, map i32.sum ys)
type^ gen = (n: i64) -> [n]i32
def app (g: gen) = (g 2, g 3)

-- ==
-- entry: d
-- input {} output { [7i32,7] [7i32,7,7] }
entry d = app (\n -> replicate n 7)
