-- Expressions that extend to the right.

-- ==
-- entry: a
-- input { 5i32 } output { 50i32 }
entry a (x: i32) = x * if x > 3 then 10 else 20

-- ==
-- entry: b
-- input { 5i64 } output { 10i64 }
entry b (n: i64) = (.0) <| loop (s, i) = (0, 0) while i < n do (s + i, i + 1)

-- ==
-- entry: c
-- input {} output { [1i32,0,2] }
entry c = replicate 3 0i32 with [0] = 1 with [2] = 2

-- ==
-- entry: d
-- input {} output { 10i32 }
entry d = let n = 5 let f x = x * 2 in f n

-- ==
-- entry: e
-- input {} output { [0i64,2,4] }
entry e = tabulate 3 \i -> i * 2

-- ==
-- entry: f
-- input {} output { [[0i64,1],[1i64,2]] }
entry f = tabulate_2d 2 2 \i j -> i + j

-- ==
-- entry: g
-- input { 3i32 } output { 1i32 }
entry g (x: i32) = if x == 1 then 2 else if x == 3 then 1 else 0
