-- Two layers of rectifiers and a safe softmax, summed with weights 1, 2, …; the gradient in all weights, biases and the input.
-- Expected values: equal scores for two classes.
-- ==
-- entry: primal
-- input { [[1.0]] [1.0] [[1.0], [1.0]] [0.0, 0.0] [2.0] } output { 1.5 }

-- ==
-- entry: gradient
-- input { [[1.0]] [1.0] [[1.0], [1.0]] [0.0, 0.0] [2.0] } output { [[0.0]] [0.0] [[-0.75], [0.75]] [-0.25, 0.25] [0.0] }

def layer [m][n] (a: [m][n]f64) (b: [m]f64) (x: [n]f64): [m]f64 =
  map2 (\row b -> f64.max (f64.sum (map2 (*) row x) + b) 0) a b

def softmax [n] (x: [n]f64): [n]f64 =
  let largest = f64.maximum x
  let exps = map (\v -> f64.exp (v - largest)) x
  let total = f64.sum exps
  in map (/ total) exps

entry primal [d][h][o] (a1: [h][d]f64) (b1: [h]f64) (a2: [o][h]f64) (b2: [o]f64) (x: [d]f64): f64 =
  let p = softmax (layer a2 b2 (layer a1 b1 x))
  in f64.sum (map2 (\i p -> f64.i64 (i + 1) * p) (iota o) p)

entry gradient [d][h][o] (a1: [h][d]f64) (b1: [h]f64) (a2: [o][h]f64) (b2: [o]f64) (x: [d]f64) =
  grad (\(a1, b1, a2, b2, x) -> primal a1 b1 a2 b2 x) (a1, b1, a2, b2, x)
