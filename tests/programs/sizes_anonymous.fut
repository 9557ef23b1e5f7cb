-- Anonymous sizes in parameters and results.

-- ==
-- entry: a
-- input { [[1i32,2],[3i32,4]] } output { [[1i32,3],[2i32,4]] }
entry a (x: [][]i32) : [][]i32 = transpose x

-- ==
-- entry: b
-- input { [1i32,2] } output { [1i32,2,1,2] }
entry b (x: []i32) : []i32 = let f (y: []i32) : []i32 = y ++ y in f x

-- ==
-- entry: c
-- input { [1i32,2] } output { [[1i32,2],[1i32,2]] }
entry c [n] (x: [n]i32) = let g () = x in [g (), g ()]

-- ==
-- entry: d
-- input { [1i32,2,3] } output { [6i32] }
entry d (x: []i32) = map i32.sum [x]

-- ==
-- entry: e
-- input { [1i64,2,3] } output { [0i64,0,1,3] }
entry e (ns: []i64) = map (\n -> i64.sum (iota n)) ([0] ++ ns)

-- ==
-- entry: f
-- input { [3i64,3] } output { [[0i64,1,2],[0i64,1,2]] }
-- input { [3i64,2] } error: .
entry f (ns: []i64) = map (\n -> iota n :> [3]i64) ns

-- ==
-- entry: g
-- input { [3i64,3] } output { [3i64,3] }
-- input { [3i64,2] } output { [3i64,2] }
entry g (ns: []i64) = map (\n -> length (filter (>= 0) (iota n))) ns
