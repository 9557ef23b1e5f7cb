-- The squared distances of points to their nearest centres, and the gradient of their sum in the centres.
-- ==
-- entry: primal
-- input { [[0.0, 0.0], [4.0, 4.0]] [[0.5, 0.0], [3.0, 4.0], [4.0, 5.0], [0.0, -1.0]] } output { 3.25 }

-- ==
-- entry: gradient
-- input { [[0.0, 0.0], [4.0, 4.0]] [[0.5, 0.0], [3.0, 4.0], [4.0, 5.0], [0.0, -1.0]] } output { [[-1.0, 2.0], [2.0, -2.0]] }

def distance [d] (a: [d]f64) (b: [d]f64): f64 = f64.sum (map2 (\x y -> (x - y) * (x - y)) a b)

entry primal [n][k][d] (centres: [k][d]f64) (points: [n][d]f64): f64 =
  f64.sum (map (\p -> f64.minimum (map (distance p) centres)) points)

entry gradient [n][k][d] (centres: [k][d]f64) (points: [n][d]f64): [k][d]f64 = grad (\c -> primal c points) centres
