-- k-means: the cost of a set of centres, its gradient, and one step of Newton's method, whose diagonal Hessian comes from forward
-- over reverse mode.
-- Expected values: closed form.
-- ==
-- entry: cost
-- input { [[0.0, 0.0], [4.0, 4.0]] [[0.5, 0.0], [3.0, 4.0], [4.0, 5.0], [0.0, -1.0]] }
-- output { 3.25 }

-- ==
-- entry: gradient
-- input { [[0.0, 0.0], [4.0, 4.0]] [[0.5, 0.0], [3.0, 4.0], [4.0, 5.0], [0.0, -1.0]] }
-- output { [[-1.0, 2.0], [2.0, -2.0]] }

-- ==
-- entry: newton_step
-- input { [[0.0, 0.0], [4.0, 4.0]] [[0.5, 0.0], [3.0, 4.0], [4.0, 5.0], [0.0, -1.0]] }
-- output { [[0.25, -0.5], [3.5, 4.5]] }

def distance [d] (a: [d]f64) (b: [d]f64): f64 = f64.sum (map2 (\x y -> (x - y) ** 2) a b)

-- | The sum over all points of the squared distance to the nearest centre.
entry cost [n][k][d] (centres: [k][d]f64) (points: [n][d]f64): f64 =
  f64.sum (map (\p -> f64.minimum (map (distance p) centres)) points)

entry gradient [n][k][d] (centres: [k][d]f64) (points: [n][d]f64): [k][d]f64 =
  grad (\c -> cost c points) centres

-- | Each component moves as if the cost were quadratic in it alone: for k-means that lands on the mean of the cluster.
entry newton_step [n][k][d] (centres: [k][d]f64) (points: [n][d]f64): [k][d]f64 =
  let ones = replicate k (replicate d 1)
  let (slope, curvature) = jvp2 (\c -> gradient c points) centres ones
  in map3 (map3 (\c s h -> if h == 0 then c else c - s / h)) centres slope curvature
