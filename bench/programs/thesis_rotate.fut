-- Vectors turned by quaternions (x, y, z, w), and the Jacobian in the quaternion and the vector, by three reverse passes.
-- Expected values: computed by hand.
-- ==
-- entry: primal
-- input { [[1.1, 2.2, 3.3, 4.4]] [[5.5, 6.6, 7.7]] } output { [[71.874, 303.468, 279.51]] }

-- ==
-- entry: gradient
-- input { [[1.1, 2.2, 3.3, 4.4]] [[5.5, 6.6, 7.7]] }
-- output { [[[91.96, 58.08, -77.44, 38.72, 4.84, -24.2, 26.62],
-- [-58.08, 91.96, 38.72, 77.44, 33.88, 12.1, 4.84],
-- [77.44, -38.72, 91.96, 58.08, -12.1, 24.2, 24.2]]] }

def dot (a: [3]f64) (b: [3]f64): f64 = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]

def cross (a: [3]f64) (b: [3]f64): [3]f64 =
  [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]

def rotate_by (q: [4]f64) (v: [3]f64): [3]f64 =
  let u = [q[0], q[1], q[2]]
  let w = q[3]
  let uv = dot u v
  let rest = w * w - dot u u
  in map3 (\u v c -> 2 * uv * u + rest * v + 2 * w * c) u v (cross u v)

entry primal [n] (q: [n][4]f64) (v: [n][3]f64): [n][3]f64 = map2 rotate_by q v

entry gradient [n] (q: [n][4]f64) (v: [n][3]f64): [n][3][7]f64 =
  let seeds = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
  in map2 (\q v -> map (\(q, v) -> sized 7 (q ++ v)) (mjp (uncurry rotate_by) (q, v) seeds)) q v
