-- The loss of a logistic regression with a ridge, and its gradient in the weights.
-- Expected values: two points on opposite sides, log (1 + e) and log (1 + e) - 1, and their slopes.
-- ==
-- entry: primal
-- input { [1.0] [[1.0], [-1.0]] [1.0, 1.0] } output { 2.1265233750364454 }

-- ==
-- entry: gradient
-- input { [1.0] [[1.0], [-1.0]] [1.0, 1.0] } output { [1.4621171572600098] }

def softplus (z: f64): f64 = f64.max z 0 + f64.log (1 + f64.exp (-(f64.abs z)))

def dot [n] (a: [n]f64) (b: [n]f64): f64 = f64.sum (map2 (*) a b)

entry primal [n][d] (w: [d]f64) (x: [n][d]f64) (y: [n]f64): f64 =
  let of_point row label = let z = dot row w in softplus z - label * z
  in f64.sum (map2 of_point x y) + 0.5 * dot w w

entry gradient [n][d] (w: [d]f64) (x: [n][d]f64) (y: [n]f64): [d]f64 = grad (\w -> primal w x y) w
