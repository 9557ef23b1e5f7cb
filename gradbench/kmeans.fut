-- k-means: the cost of a set of centroids, and the direction of Newton's method in which every component counts as if alone.
-- Expected values: closed form.
-- ==
-- entry: cost
-- input { [[0.5, 0.0], [3.0, 4.0], [4.0, 5.0], [0.0, -1.0]] [[0.0, 0.0], [4.0, 4.0]] }
-- output { 3.25 }

-- ==
-- entry: dir
-- input { [[0.5, 0.0], [3.0, 4.0], [4.0, 5.0], [0.0, -1.0]] [[0.0, 0.0], [4.0, 4.0]] }
-- output { [[-0.25, 0.5], [0.5, -0.5]] }

def distance [d] (a: [d]f64) (b: [d]f64): f64 = f64.sum (map2 (\x y -> (x - y) ** 2) a b)

entry cost [n][k][d] (points: [n][d]f64) (centroids: [k][d]f64): f64 =
  f64.sum (map (\p -> f64.minimum (map (distance p) centroids)) points)

-- | The cost is separable in the components, so one tangent of ones reads the whole diagonal of the Hessian.
entry dir [n][k][d] (points: [n][d]f64) (centroids: [k][d]f64): [k][d]f64 =
  let ones = replicate k (replicate d 1)
  let (slope, curvature) = jvp2 (grad (cost points)) centroids ones
  in map2 (map2 (/)) slope curvature
