-- Arrays of arrays, tuples and records.

-- ==
-- entry: a
-- input { [[[1i32,2],[3i32,4]],[[5i32,6],[7i32,8]]] } output { [[1i32,5],[2i32,6]] 36i32 [[3i32,7],[11i32,15]] }
entry a [n][m][k] (xs: [n][m][k]i32) = (transpose xs[:,0,:], i32.sum (flatten_3d xs), map (map i32.sum) xs)

-- ==
-- entry: b
-- input {} output { [1i32,3] [[true,false],[true,true]] [[2.0,4.0],[6.0,8.0]] }
entry b = let xs = [(1i32, [(true, 2.0), (false, 4.0)]), (3, [(true, 6.0), (true, 8.0)])]
          let (a, b) = unzip xs let (c, d) = unzip (map unzip b) in (a, c, d)

-- ==
-- entry: c
-- input {} output { [[1i32,2],[3i32,4]] }
entry c = let xs = replicate 2 {p = replicate 2 0i32, q = true} let xs[0] = {p = [1,2], q = false} let xs[1] = {p = [3,4], q = false} in map (.p) xs

-- ==
-- entry: d
-- input { [[1i32,2],[3i32,4]] } output { [[1i32,2],[3i32,9]] [[1i32,2],[3i32,4]] }
entry d (xs: [][]i32) = (copy xs with [1,1] = 9, xs)

-- ==
-- entry: e
-- input { [[1i32,2],[3i32,4]] [[5i32,6],[7i32,8]] } output { [[1i32,2,5,6],[3i32,4,7,8]] [[1i32,2],[3i32,4],[5i32,6],[7i32,8]] }
entry e [n][m] (a: [n][m]i32) (b: [n][m]i32) = (map2 (++) a b, a ++ b)

-- ==
-- entry: f
-- input {} output { true false true }
entry f = ([[1,2],[3,4]] == [[1,2],[3,4i32]], (1, [2.0]) == (1i32, [3.0]), {a = "x", b = ()} == {a = "x", b = ()})

-- ==
-- entry: g
-- input {} output { [[0i64,1],[2i64,3],[4i64,5]] [[0i64,2,4],[1i64,3,5]] }
entry g = let x = unflatten (iota 6 :> [3*2]i64) in (x, transpose x)

-- ==
-- entry: h
-- input { [3i32,1,2] } output { [1i32,2,3] }
entry h [n] (xs: [n]i32) = let rank x = i64.sum (map (\y -> i64.bool (y < x)) xs) in scatter (replicate n 0) (map rank xs) xs
