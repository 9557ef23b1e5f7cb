-- The logarithm of a sum of exponentials; its gradient is the softmax.
-- ==
-- entry: primal
-- input { [0.0, 0.0, 0.0, 0.0] } output { 1.3862943611198906 }
-- input { [1000.0, 1000.0] } output { 1000.6931471805599 }

-- ==
-- entry: gradient
-- input { [0.0, 0.0, 0.0, 0.0] } output { [0.25, 0.25, 0.25, 0.25] }
-- input { [-1000.0, 1000.0] } output { [0.0, 1.0] }

entry primal [n] (x: [n]f64): f64 =
  let largest = f64.maximum x
  in largest + f64.log (f64.sum (map (\v -> f64.exp (v - largest)) x))

entry gradient [n] (x: [n]f64): [n]f64 = grad primal x
