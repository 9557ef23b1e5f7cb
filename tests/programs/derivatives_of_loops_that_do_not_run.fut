-- Loops that read at a place which is the same in every iteration, and do not run: the place need not exist, in the derivative either. If they do
-- run, it must.
-- ==
-- entry: element
-- input { [1.0, 2.0, 3.0] 5i64 0i64 } output { [0.0, 0.0, 0.0] }
-- input { [1.0, 2.0, 3.0] 1i64 4i64 } output { [0.0, 4.0, 0.0] }
-- input { [1.0, 2.0, 3.0] 5i64 1i64 } error: index 5 out of bounds

-- ==
-- entry: literal_place
-- input { [1.0, 2.0, 3.0] 0i64 } output { [0.0, 0.0, 0.0] }
-- input { [1.0, 2.0, 3.0] 2i64 } error: index 7 out of bounds

-- ==
-- entry: product
-- input { [1.0, 2.0, 3.0] 5i64 0i64 } output { [0.0, 0.0, 0.0] }
-- input { [1.0, 2.0, 3.0] 2i64 2i64 } output { [3.0, 3.0, 3.0] }
-- input { [1.0, 2.0, 3.0] 3i64 2i64 } error: index 3 out of bounds

-- ==
-- entry: outer
-- input { [1.0, 2.0] 5i64 0i64 3i64 } output { [0.0, 0.0] }
-- input { [1.0, 2.0] 5i64 3i64 0i64 } output { [0.0, 0.0] }
-- input { [1.0, 2.0] 1i64 3i64 3i64 } output { [0.0, 9.0] }
-- input { [1.0, 2.0] 5i64 3i64 2i64 } error: index 5 out of bounds

-- ==
-- entry: row
-- input { [[1.0, 2.0], [3.0, 4.0]] 5i64 0i64 } output { [[0.0, 0.0], [0.0, 0.0]] }
-- input { [[1.0, 2.0], [3.0, 4.0]] 1i64 3i64 } output { [[0.0, 0.0], [3.0, 3.0]] }
-- input { [[1.0, 2.0], [3.0, 4.0]] 2i64 1i64 } error: index 2 out of bounds

-- ==
-- entry: row_without_columns
-- input { empty([2][0]f64) 5i64 } output { empty([2][0]f64) }
-- input { [[1.0, 2.0], [3.0, 4.0]] 0i64 } output { [[1.0, 1.0], [0.0, 0.0]] }
-- input { [[1.0, 2.0], [3.0, 4.0]] 2i64 } error: index 2 out of bounds

-- ==
-- entry: lengths_differ
-- input { [1.0, 2.0, 3.0] 9i64 [0i64, 0i64] } output { [0.0, 0.0, 0.0] }
-- input { [1.0, 2.0, 3.0] 1i64 [0i64, 2i64] } output { [0.0, 2.0, 0.0] }
-- input { [1.0, 2.0, 3.0] 9i64 [0i64, 2i64] } error: index 9 out of bounds

-- ==
-- entry: in_a_loop
-- input { [1.0, 2.0, 3.0] 3i64 0i64 } output { [0.0, 0.0, 0.0] }
-- input { [1.0, 2.0, 3.0] 2i64 2i64 } output { [4.0, 4.0, 0.0] }

entry element (w: []f64) (k: i64) (n: i64): []f64 =
  vjp (\w -> f64.sum (map (\_ -> w[k]) (iota n))) w 1

entry literal_place (w: []f64) (n: i64): []f64 =
  vjp (\w -> f64.sum (map (\_ -> w[7]) (iota n))) w 1

entry product (w: []f64) (k: i64) (n: i64): []f64 =
  vjp (\w -> f64.sum (map (\i -> w[k] * w[i]) (iota n))) w 1

entry outer (w: []f64) (k: i64) (n: i64) (m: i64): []f64 =
  vjp (\w -> f64.sum (map (\i -> f64.i64 i * f64.sum (map (\j -> f64.i64 j * w[k]) (iota m))) (iota n))) w 1

entry row [n][m] (a: [n][m]f64) (k: i64) (times: i64): [n][m]f64 =
  vjp (\a -> f64.sum (map (\_ -> f64.sum a[k]) (iota times))) a 1

entry row_without_columns [n][m] (a: [n][m]f64) (k: i64): [n][m]f64 =
  vjp (\a -> f64.sum (map (\j -> a[k, j]) (iota m))) a 1

entry lengths_differ (w: []f64) (k: i64) (lengths: []i64): []f64 =
  vjp (\w -> f64.sum (map (\n -> f64.sum (map (\_ -> w[k]) (iota n))) lengths)) w 1

entry in_a_loop (w: []f64) (steps: i64) (n: i64): []f64 =
  vjp (\w -> loop s = 0 for k < steps do s + f64.sum (map (\i -> 2 * w[k] + 0 * f64.i64 i) (iota n))) w 1
