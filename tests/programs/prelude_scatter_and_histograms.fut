-- scatter, histograms and reductions over tuples and rows.

-- ==
-- entry: a
-- input {} output { [0i32,7,0] [false,true,false] }
entry a = unzip (scatter (replicate 3 (0i32, false)) [1, 5] [(7, true), (8, true)])

-- ==
-- entry: b
-- input {} output { [[0i32,0],[1i32,2],[0i32,0]] }
entry b = scatter (replicate 3 [0i32,0]) [1,-1] [[1,2],[3,4]]

-- ==
-- entry: c
-- input {} output { [3i32,0] [4.0,0.0] }
entry c = unzip (reduce_by_index (replicate 2 (0i32, 0.0)) (\(a, b) (c, d) -> (a + c, b + d)) (0, 0) [0,0,2] [(1,1.5),(2,2.5),(9,9)])

-- ==
-- entry: d
-- input {} output { [[1i32,0],[0i32,5]] [[[0i32,9]]] }
entry d = (reduce_by_index_2d (replicate 2 (replicate 2 0i32)) (+) 0 [(0,0),(1,1),(1,1),(2,0)] [1,2,3,4], scatter_3d [[[0i32,0]]] [(0,0,1),(0,1,0)] [9,8])

-- ==
-- entry: e
-- input { [5i32,3,9] } output { 9i32 2i64 3i32 1i64 }
entry e [n] (xs: [n]i32) =
  let arg better = reduce (\(x, i) (y, j) -> if i < 0 then (y, j) else if j < 0 then (x, i) else if better x y then (x, i) else (y, j)) (0, -1) (zip xs (iota n))
  let (a, b) = arg (>) let (c, d) = arg (<) in (a, b, c, d)

-- ==
-- entry: f
-- input { [1i32,2,3,4] } output { [1i32,2,6,24] [1i32,1,2,6] [1i32,2,3,4] }
entry f (xs: []i32) = (scan (*) 1 xs, exscan (*) 1 xs, scan i32.max i32.lowest xs)

-- ==
-- entry: g
-- input { [[1i32,2],[3i32,4]] } output { [[1i32,2],[4i32,6]] [[1i32,3],[3i32,7]] }
entry g [n][m] (xs: [n][m]i32) = (scan (map2 (+)) (replicate m 0) xs, map (scan (+) 0) xs)
