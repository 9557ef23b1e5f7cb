-- (x, y) <- (a x + y, x) for every coefficient a; the sum of the last x, and its gradient.
-- ==
-- entry: primal
-- input { [2.0, 3.0] [1.0, 1.0] [0.0, 1.0] } output { 17.0 }

-- ==
-- entry: gradient
-- input { [2.0, 3.0] [1.0, 1.0] [0.0, 1.0] } output { [6.0, 5.0] [7.0, 7.0] [3.0, 3.0] }

entry primal [k][n] (a: [k]f64) (x: [n]f64) (y: [n]f64): f64 =
  let (x, _) = loop (x, y) for i < k do (map2 (\u v -> a[i] * u + v) x y, x)
  in f64.sum x

entry gradient [k][n] (a: [k]f64) (x: [n]f64) (y: [n]f64): ([k]f64, [n]f64, [n]f64) =
  grad (\(a, x, y) -> primal a x y) (a, x, y)
