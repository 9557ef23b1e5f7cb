-- Array functions of the prelude.

-- ==
-- entry: a
-- input { [1i32,2,3,4] } output { 1i32 4i32 [2i32,3,4] [1i32,2,3] [1i32,2] [3i32,4] }
entry a [n] (xs: [n]i32) = (head xs, last xs, tail xs, init xs, take 2 xs, drop 2 xs)

-- ==
-- entry: b
-- input { [1i32,2,3,4] } output { [2i32,3,4,1] [4i32,1,2,3] [4i32,3,2,1] [1i32,2,3,4,1,2,3,4] }
entry b (xs: []i32) = (rotate 1 xs, rotate (-1) xs, reverse xs, concat xs xs)

-- ==
-- entry: c
-- input {} output { 10i32 -2i32 [0i32,1,3] [1i32,3,6] }
entry c = (foldl (+) 0 [1,2,3,4], foldr (-) 0 [1,2,3,4i32], exscan (+) 0 [1,2,3], scan (+) 0 [1,2,3i32])

-- ==
-- entry: d
-- input {} output { [3i32,0,4] [5i32,9,5] [[1i32,0],[0i32,2]] [2i32,1,0] }
entry d = (hist (+) 0 3 [0,2,0,5,-1,2] [1,1,2,9,9,3], spread 3 5 [1,7] [9,8], scatter_2d (replicate 2 (replicate 2 0)) [(0,0),(1,1),(2,2)] [1,2,3], reduce_by_index (replicate 3 0) (+) 0 [0,1,0,-1,3] [1,1,1,1,1])

-- ==
-- entry: e
-- input {} output { [[[0i64,1],[1i64,2]]] [0i64,1,2,3] [[[0i64,1],[2i64,3]]] }
entry e = (tabulate_3d 1 2 2 (\i j k -> i + j + k), flatten_3d [[[0,1],[2,3i64]]], unflatten_3d (iota 4 :> [1*2*2]i64))

-- ==
-- entry: f
-- input {} output { [1i32,2] [3i32,4] [true,false] [6i32,12] }
entry f = let (a, b, c) = unzip3 (zip3 [1,2i32] [3,4i32] [true,false]) in (a, b, c, map3 (\x y z -> x + y + z) a b [2,6])

-- ==
-- entry: g
-- input {} output { [1i64,0,2] [true,true,false] [0i64,1,1] [0i64,0,1] }
entry g = flatmap' (\n -> iota n) [1i64,0,2]

-- ==
-- entry: h
-- input {} output { true false 8i32 3i32 16i32 }
entry h = (all (> 0) [1,2i32], any (> 2) [1,2i32], iterate 3 (* 2) 1i32, flip (-) 2 5i32, iterate_until (> 10) (* 2) 1i32)

-- ==
-- entry: i
-- input {} output { 3i32 3i32 7i32 [7i32,7] 6i32 }
entry i = (curry (\(a, b) -> a + b) 1 2i32, uncurry (+) (1, 2i32), const 7i32 true, rep 7i32 : [2]i32, (+ 1) >-> (* 2) <| 2)

-- ==
-- entry: j
-- input {} output { [1i32,2] [3i32,4,5] }
entry j = split ([1,2,3,4,5i32] :> [2+3]i32)

-- ==
-- entry: k
-- input {} output { [[1i32,4],[2i32,5]] }
entry k = reduce_comm (\a b -> map2 (map2 (+)) a b) [[0,0],[0,0i32]] [[[1,2],[1,3]],[[0,2],[1,2]]]

-- ==
-- entry: l
-- input {} output { [10i32,7] }
entry l = map5 (\a b c d e -> a + b + c + d + e) [1,1] [2,2] [3,3] [4,1] [0,0i32]
