-- Rows that come out of branches, or with another shape, are the rows that they should be.
-- ==
-- entry: flat
-- input { 2i64 [1.0, 2.0] } output { [[1.0, 0.0, 1.0, 2.0, 0.0, 1.0], [1.0, 1.0, 1.0, 2.0, 2.0, 1.0]] }
-- input { 2i64 empty([0]f64) } output { empty([2][0]f64) }
-- input { 0i64 [1.0, 2.0] } output { empty([0][6]f64) }
entry flat [n] (k: i64) (xs: [n]f64) = tabulate k (\i -> flatten (map (\x -> [x, x * f64.i64 i, 1]) xs))

-- ==
-- entry: chosen
-- input { 3i64 [1.0, 2.0] } output { [[0.0, 0.0], [-1.0, -1.0], [2.0, 4.0]] }
entry chosen [n] (k: i64) (xs: [n]f64) =
  tabulate k (\i -> if i % 2 == 0 then map (* f64.i64 i) xs else replicate n (-1))

-- Branches within branches, and a shape that changes outside of them or in one of them.
-- ==
-- entry: nested
-- input { 3i64 [1.0, 2.0] }
-- output { [[1.0, 0.0, 2.0, 0.0], [5.0, 5.0, 5.0, 5.0], [1.0, 2.0, 1.0, 2.0]] [[1.0, 2.0, 1.0, 2.0], [1.0, 0.0, 2.0, 0.0], [5.0, 5.0, 5.0, 5.0]] }
entry nested [n] (k: i64) (xs: [n]f64) =
  let pairs x = [x, 0]
  in (tabulate k (\i -> flatten (if i < 2 then if i == 0 then map pairs xs else replicate n [5, 5] else tabulate n (\_ -> [1, 2]))),
      tabulate k (\i -> if i == 0 then xs ++ xs :> [n * 2]f64 else if i == 1 then flatten (map pairs xs) else replicate (n * 2) 5))

-- What is built is needed twice, or is there already.
-- ==
-- entry: again
-- input { 2i64 [1.0, 2.0] } output { [[1.0, 2.0], [1.0, 2.0]] [[3.0, 3.0], [4.0, 5.0]] }
entry again [n] (k: i64) (xs: [n]f64) =
  unzip (tabulate k (\i ->
    let ys = if i == 0 then map (+ 0) xs else map (* 1) xs
    in (ys, if i == 0 then replicate n (f64.sum ys) else map (+ f64.sum ys) ys)))

-- ==
-- entry: turned
-- input { 2i64 [[1.0, 2.0], [3.0, 4.0]] } output { [[1.0, 3.0, 2.0, 4.0], [1.0, 2.0, 3.0, 4.0]] }
entry turned [n] (k: i64) (xs: [n][n]f64) =
  tabulate k (\i -> let ys = map (map (+ 0)) xs in if i == 0 then flatten (transpose ys) else flatten ys)

-- ==
-- entry: irregular
-- input { 1i64 [1.0, 2.0] } output { [[1.0, 2.0, 1.0, 2.0]] }
-- input { 2i64 [1.0, 2.0] } error: .
entry irregular [n] (k: i64) (xs: [n]f64) =
  tabulate k (\i -> if i == 0 then flatten [xs, xs] else (filter (> 1) xs :> [2 * n]f64))

-- As many elements as nobody can count are no row, though their number in 64 bits is small.
-- ==
-- entry: beyond
-- input { 3i64 } output { [[0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]] }
-- input { 6148914691236517206i64 } error: .
entry beyond (n: i64) = tabulate 1 (\i -> flatten (tabulate n (\j -> replicate 3 (f64.i64 (i + j)))))

-- ==
-- entry: derived
-- input { [1.0, 2.0] } output { [[2.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 4.0], [0.0, 0.0], [0.0, 1.0]] [6.0, 8.0] }
entry derived [n] (xs: [n]f64) =
  let f xs = flatten (map (\x -> [x * x, 1, x]) xs)
  let rows (xs: [n]f64) = tabulate 3 (\i -> if i == 0 then map (* 2) xs else if i == 1 then xs else map (\x -> x * x) xs)
  in (jacfwd f xs, vjp (\xs -> map f64.sum (transpose (rows xs))) xs (replicate n 1) |> map2 (\x g -> x + g) (map (const 1) xs))

-- Rows that are changed before they are done.
-- ==
-- entry: changed
-- input { 2i64 [1.0, 2.0, 3.0] [2i64, 0, 2] }
-- output { [[2.0, 0.0, 3.0], [2.0, 1.0, 3.0]] [[2.0, 0.0, 4.0], [3.0, 1.0, 5.0]] [[4.0, 0.0, 6.0], [4.0, 1.0, 6.0]] [[0.0, 0.0, 3.0], [4.0, 4.0, 8.0]] }
entry changed [n] (k: i64) (xs: [n]f64) (is: [n]i64) =
  (tabulate k (\i -> scatter (replicate n (f64.i64 i)) is xs),
   tabulate k (\i -> reduce_by_index (replicate n (f64.i64 i)) (+) 0 is xs),
   tabulate k (\i -> let ys = scatter (replicate n (f64.i64 i)) is xs in scatter ys is (map (* 2) (map (\j -> ys[j]) is))),
   tabulate k (\i -> if i == 0 then scatter (replicate n 0) [i + 2] [3] else map2 (+) xs (scatter (map (\_ -> 3) xs) [1, 2] [2, 5])))

-- ==
-- entry: gathered
-- input { [1.0, 2.0] [1i64, 0, 1] } output { [[0.0, 12.0], [3.0, 72.0]] }
entry gathered [n][m] (xs: [n]f64) (is: [m]i64) =
  tabulate n (\k -> vjp (\xs -> map (\i -> xs[i] ** 3) is) xs (tabulate m (\j -> if j == k then 1 else f64.i64 k * 3)))
