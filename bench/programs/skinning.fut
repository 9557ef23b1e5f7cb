-- Linear blend skinning: vertices move with a weighted sum of bones, each with three angles and a shift; and the full Jacobian in the pose.
-- Expected values: one bone that only shifts.
-- ==
-- entry: primal
-- input { [0.0, 0.0, 0.0, 1.0, 2.0, 3.0] [[1.0]] [[1.0, 2.0, 3.0]] } output { [2.0, 4.0, 6.0] }

-- ==
-- entry: gradient
-- input { [0.0, 0.0, 0.0, 1.0, 2.0, 3.0] [[1.0]] [[1.0, 2.0, 3.0]] }
-- output { [[0.0, 3.0, -2.0, 1.0, 0.0, 0.0], [-3.0, 0.0, 1.0, 0.0, 1.0, 0.0], [2.0, -1.0, 0.0, 0.0, 0.0, 1.0]] }

type matrix = [3][3]f64

def multiply (a: matrix) (b: matrix): matrix =
  map (\row -> map (\column -> f64.sum (map2 (*) row column)) (transpose b)) a

def turn (a: f64) (b: f64) (c: f64): matrix =
  let x = [[1, 0, 0], [0, f64.cos a, -(f64.sin a)], [0, f64.sin a, f64.cos a]]
  let y = [[f64.cos b, 0, f64.sin b], [0, 1, 0], [-(f64.sin b), 0, f64.cos b]]
  let z = [[f64.cos c, -(f64.sin c), 0], [f64.sin c, f64.cos c, 0], [0, 0, 1]]
  in multiply z (multiply y x)

def skin [p][n][b] (pose: [p]f64) (weights: [n][b]f64) (vertices: [n][3]f64): [n * 3]f64 =
  let turns = tabulate b (\i -> turn pose[6 * i] pose[6 * i + 1] pose[6 * i + 2])
  let shifts = tabulate b (\i -> [pose[6 * i + 3], pose[6 * i + 4], pose[6 * i + 5]])
  let place v (w: f64) (m: matrix) (s: [3]f64) = map2 (\row s -> w * (f64.sum (map2 (*) row v) + s)) m s
  let of_vertex v ws = map f64.sum (transpose (map3 (place v) ws turns shifts))
  in flatten (map2 of_vertex vertices weights)

entry primal [p][n][b] (pose: [p]f64) (weights: [n][b]f64) (vertices: [n][3]f64): [n * 3]f64 = skin pose weights vertices

entry gradient [p][n][b] (pose: [p]f64) (weights: [n][b]f64) (vertices: [n][3]f64): [n * 3][p]f64 =
  jacfwd (\pose -> skin pose weights vertices) pose
