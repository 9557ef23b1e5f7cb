-- Weights are added up by bin; the sum of squares of the bins, and its gradient in the weights.
-- ==
-- entry: primal
-- input { [0i64, 2i64, 0i64, 7i64] [1.0, 2.0, 3.0, 4.0] 3i64 } output { 20.0 }

-- ==
-- entry: gradient
-- input { [0i64, 2i64, 0i64, 7i64] [1.0, 2.0, 3.0, 4.0] 3i64 } output { [8.0, 4.0, 8.0, 0.0] }

entry primal [n] (bins: [n]i64) (weights: [n]f64) (k: i64): f64 =
  f64.sum (map (\x -> x * x) (hist (+) 0 k bins weights))

entry gradient [n] (bins: [n]i64) (weights: [n]f64) (k: i64): [n]f64 = grad (\w -> primal bins w k) weights
