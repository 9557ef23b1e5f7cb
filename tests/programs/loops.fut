-- Loops with patterns, records, changing arrays.

-- ==
-- entry: a
-- input { 10i32 } output { 55i32 89i32 }
entry a (n: i32) = loop (a, b) = (0, 1) for _i < n do (b, a + b)

-- ==
-- entry: b
-- input { [3i32,4,5] } output { 12i32 5i32 }
entry b (xs: []i32) = loop (s, m) = (0, i32.lowest) for x in xs do (s + x, i32.max m x)

-- ==
-- entry: c
-- input { 7i64 } output { 16i64 }
entry c (n: i64) = loop steps = 0 while true && steps < 16 do steps + 1 + 0 * n

-- ==
-- entry: d
-- input {} output { 3i32 6i32 }
entry d = let r = loop r = {i = 0i32, s = 0i32} while r.i < 3 do {i = r.i + 1, s = r.s + r.i + 1} in (r.i, r.s)

-- ==
-- entry: e
-- input {} output { 3i32 3i32 }
entry e = let r = loop {a, b} = {a = 0i32, b = 0i32} for i < 3 do {a = a + 1, b = b + i} in (r.a, r.b)

-- ==
-- entry: g
-- input { 5u8 } output { 10u8 }
entry g (n: u8) = loop s = 0u8 for i < 5i8 do s + u8.i8 i + 0 * n

-- ==
-- entry: h
-- input { [1i32,2,3] [4i32,5,6] } output { 32i32 }
entry h [n] (xs: [n]i32) (ys: [n]i32) = loop s = 0 for (x, y) in zip xs ys do s + x * y

-- ==
-- entry: i
-- input { 4i64 } output { [[0i64,0],[1i64,1],[2i64,2],[3i64,3]] }
entry i n = loop xs = replicate n [0i64, 0] for i < n do xs with [i] = [i, i]

-- ==
-- entry: j
-- input { [[1i32,2],[3i32,4]] } output { [4i32,6] }
entry j [n][m] (xs: [n][m]i32) = loop acc = replicate m 0 for x in xs do map2 (+) acc x

-- ==
-- entry: k
-- input { 3i64 } output { 3i64 [1i32,1,1] }
entry k (x: i64) = loop (x, ys) = (x, replicate x 0) for i < x do (x, ys with [i] = 1)
