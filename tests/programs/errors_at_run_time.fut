-- Errors that a run reports.

-- ==
-- entry: a
-- input { 3i32 } output { 3i32 }
-- input { -3i32 } error: ssert
entry a (x: i32) = assert (x > 0) x

-- ==
-- entry: b
-- input { 3i64 } output { [0i64,1,2] }
-- input { -1i64 } error: .
entry b (n: i64) = iota n

-- ==
-- entry: c
-- input { [1i32,2] 2i64 } error: out of bounds
-- input { [1i32,2] 1i64 } output { 2i32 }
entry c (xs: []i32) (i: i64) = xs[i]

-- ==
-- entry: d
-- input { [1i32] } error: .
-- input { [1i32,2] } output { [1i32,2] }
entry d (xs: []i32) : [2]i32 = xs :> [2]i32

-- ==
-- entry: e
-- input { [1i32] [1i32,2] } error: .
-- input { [1i32] [1i32] } output { [2i32] }
entry e (xs: []i32) (ys: []i32) = map2 (+) xs (ys :> [length xs]i32)

-- ==
-- entry: f
-- input { 5i32 } output { 1i32 }
entry f (x: i32) = if x > 3 || (let _ = 1 / (x - 5) in true) then 1 else 2
