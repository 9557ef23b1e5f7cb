-- Hand tracking: how far the skin of a posed hand is from points that were measured, and the Jacobian of that in the pose.
--
-- A pose is a rotation (axis times angle), a translation, and four angles for each of five fingers. Without `us`, a point belongs to a
-- vertex; with them it belongs to a triangle, at the barycentric coordinates that stand in its row of `us`.
-- Expected values: three bones at the origin, the third a finger's first, with one vertex that hangs on it.
-- ==
-- entry: objective
-- input { [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 1.5707963267948966, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
--   empty([0][2]f64) [0i64] [[5.0, 7.0, 3.0, 1.0]]
--   [[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
--    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
--    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]]
--   [[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
--    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
--    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]]
--   false [-1i64, 0i64, 1i64] [[0i64, 0i64, 0i64]] [[0.0, 0.0, 1.0]] [[0.0, 0.0, 0.0]] }
-- output { [-6.0, 1.0, -10.0] }

-- ==
-- entry: jacobian
-- input { [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
--   [[0.25, 0.5]] [0i64] [[5.0, 7.0, 3.0, 1.0]]
--   [[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
--    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
--    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]]
--   [[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
--    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
--    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]]
--   false [-1i64, 0i64, 1i64] [[0i64, 0i64, 0i64]] [[0.0, 0.0, 1.0]] [[0.0, 0.0, 0.0]] }
-- output { [[0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 7.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
--   [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 3.0, -5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
--   [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, -7.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]] }

type matrix [n][m] = [n][m]f64

-- | Bones with their parents (-1 for none), vertices in homogeneous coordinates with a weight for every bone, triangles of vertices.
type model [b][v][t] =
  { parents: [b]i64, base_relatives: [b](matrix [4][4]), inverse_base_absolutes: [b](matrix [4][4])
  , base_positions: [v][4]f64, weights: [v][b]f64, triangles: [t][3]i64, is_mirrored: bool }

type data [b][v][t][c] = {model: model [b][v][t], correspondences: [c]i64, points: [c][3]f64}

def dot [n] (a: [n]f64) (b: [n]f64): f64 = f64.sum (map2 (*) a b)

def matmul [n][m][k] (a: matrix [n][m]) (b: matrix [m][k]): *matrix [n][k] =
  map (\row -> map (dot row) (transpose b)) a

-- | About the x, then the y, then the z axis.
def euler (x: f64) (y: f64) (z: f64): matrix [4][4] =
  let (cx, sx, cy, sy, cz, sz) = (f64.cos x, f64.sin x, f64.cos y, f64.sin y, f64.cos z, f64.sin z)
  in [ [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, 0]
     , [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, 0]
     , [-sy, cy * sx, cy * cx, 0]
     , [0, 0, 0, 1] ]

-- | About an axis whose length is the angle.
def axis_angle (r: [3]f64): matrix [3][3] =
  let angle = f64.sqrt (dot r r)
  in if angle < 1e-4 then [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
     else let (x, y, z) = (r[0] / angle, r[1] / angle, r[2] / angle)
          let (c, s) = (f64.cos angle, f64.sin angle)
          let k = 1 - c
          in [ [x * x * k + c, x * y * k - z * s, x * z * k + y * s]
             , [y * x * k + z * s, y * y * k + c, y * z * k - x * s]
             , [z * x * k - y * s, z * y * k + x * s, z * z * k + c] ]

-- | How bone `i` is turned by the pose: after two bones that are not come five fingers of four. The first of a finger has two angles,
-- the next two have one, the last has none.
def turn (theta: [26]f64) (i: i64): matrix [4][4] =
  let (finger, bone) = ((i - 2) // 4, (i - 2) %% 4)
  let angle k = theta[6 + 4 * finger + k]
  in if i < 2 || finger >= 5 || bone == 3 then euler 0 0 0
     else if bone == 0 then euler (angle 0) 0 (angle 1)
     else euler (angle (bone + 1)) 0 0

-- | How every bone moves the skin.
def transforms [b][v][t] (model: model [b][v][t]) (theta: [26]f64): [b](matrix [4][4]) =
  let relatives = tabulate b (\i -> matmul model.base_relatives[i] (turn theta i))
  let absolutes = loop absolutes = copy relatives for i < b do
    let parent = model.parents[i]
    in if parent < 0 then absolutes else absolutes with [i] = matmul absolutes[parent] relatives[i]
  in map2 matmul absolutes model.inverse_base_absolutes

def vertices [b][v][t] (model: model [b][v][t]) (theta: [26]f64): [v][3]f64 =
  let flat = map (\m -> flatten m[:3]) (transforms model theta)
  let side = if model.is_mirrored then -1 else 1
  let rotation = axis_angle (sized 3 theta[0:3])
  let place blended base =
    let p = map (\row -> dot row base) (unflatten blended)
    let p = [side * p[0], p[1], p[2]]
    in map2 (\row i -> dot row p + theta[3 + i]) rotation (iota 3)
  in map2 place (matmul model.weights flat) model.base_positions

def residuals [b][v][t][c][u] (data: data [b][v][t][c]) (theta: [26]f64, us: [u][2]f64): [c * 3]f64 =
  let skin = vertices data.model theta
  let skin_at i (correspondence: i64) =
    if u == 0 then skin[correspondence]
    else let corners = data.model.triangles[correspondence]
         let (p, q) = (us[i, 0], us[i, 1])
         in map3 (\a b c -> p * a + q * b + (1 - p - q) * c) skin[corners[0]] skin[corners[1]] skin[corners[2]]
  in flatten (map3 (\i correspondence point -> map2 (-) point (skin_at i correspondence))
                   (iota c) data.correspondences data.points)

-- | No rows of `us` are given without their columns.
def coordinates [u][w] (us: [u][w]f64): [u][2]f64 = if u == 0 then replicate u [0, 0] else us :> [u][2]f64

entry objective [b][v][t][c][u][w] (theta: [26]f64) (us: [u][w]f64) (data: data [b][v][t][c]): [c * 3]f64 =
  residuals data (theta, coordinates us)

-- | A residual knows its own row of `us` only, so one tangent reads a column of all of them.
entry jacobian [b][v][t][c][u][w] (theta: [26]f64) (us: [u][w]f64) (data: data [b][v][t][c]): [c * 3][]f64 =
  let own = if u == 0 then 0 else 2
  let one i j = f64.bool (i == j)
  let seeds = tabulate (own + 26) (\i -> (tabulate 26 (\j -> one i (own + j)), replicate u (tabulate 2 (\j -> if i < own then one i j else 0))))
  in transpose (jmp (residuals data) (theta, coordinates us) seeds)
