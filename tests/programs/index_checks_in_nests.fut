-- Indices that are computed in one loop of a nest and checked in front of another.
-- ==
-- entry: doubled
-- input { [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]] [1.0, 3.0] 2i64 } output { [[[1.0, 2.0], [5.0, 6.0]], [[3.0, 6.0], [15.0, 18.0]]] }
-- input { [[1.0, 2.0], [3.0, 4.0]] [1.0, 3.0] 2i64 } error: out of bounds

-- ==
-- entry: from_end
-- input { [[1.0, 2.0], [3.0, 4.0]] [1.0, 3.0] 2i64 } output { [[[3.0, 4.0], [1.0, 2.0]], [[9.0, 12.0], [3.0, 6.0]]] }
-- input { [[1.0, 2.0], [3.0, 4.0]] [1.0, 3.0] 3i64 } error: out of bounds

-- ==
-- entry: in_a_loop
-- input { [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]] 2i64 } output { 42.0 }
-- input { [[1.0, 2.0], [3.0, 4.0]] 2i64 } error: out of bounds

-- ==
-- entry: before_a_window
-- input { [1.0, 2.0, 3.0, 4.0] } error: out of bounds

entry doubled [n][m][o] (x: [n][m]f64) (w: [o]f64) (h: i64) =
  map (\a -> tabulate_2d h m (\i j -> x[2 * i, j] * a)) w

entry from_end [n][m][o] (x: [n][m]f64) (w: [o]f64) (h: i64) =
  map (\a -> tabulate_2d h m (\i j -> x[n - 1 - i, j] * a)) w

entry in_a_loop [n][m] (x: [n][m]f64) (h: i64) =
  loop s = 0 for k < 3 do s + f64.sum (flatten (tabulate_2d h m (\i j -> x[2 * i, j] * f64.i64 k)))

entry before_a_window [n] (x: [n]f64) = tabulate (n - 2) (\i -> let k = i + 1 let w = x[k:k + 1] in w[0] + w[-1])
