-- Shadowing of values, sizes and modules.

-- ==
-- entry: a
-- input { 1i32 } output { 4i32 }
entry a x = let x = x + 1 let x = x * 2 in x

-- ==
-- entry: b
-- input { [1i32,2] } output { [2i32,3] }
entry b xs = let map f = map (f >-> (+ 1)) xs in map id

-- ==
-- entry: c
-- input { 3i64 } output { 5i64 }
entry c n = let n = n + 2 let xs : [n]i64 = iota n in length xs

-- ==
-- entry: d
-- input { 3i64 } output { [0i64,1,2] 4i64 }
entry d n = let xs : [n]i64 = iota n let n = n + 1 in (xs, n)
def f [n] (n': [n]i32) = n

-- ==
-- entry: e
-- input { [1i32,2] } output { 2i64 }
entry e xs = f xs

-- ==
-- entry: g
-- input { 1i32 } output { 3i32 }
entry g i32 = i32 + 2i32
