-- Bundle adjustment: how far cameras project points from where they were seen, and the sparse Jacobian of that in all cameras, points
-- and weights. The benchmark names one camera, one point and one observation, copies of which make up the problem, and looks at
-- the beginning and the end of the results: `prepare` makes the problem, and the reports cut out what is looked at.
-- Expected values: a camera at the origin looking at (2, 4, 2) with focal length 3 sees (3, 6).
-- ==
-- entry: prepare
-- input { 1i64 1i64 2i64 [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0] [2.0, 4.0, 2.0] 0.5 [1.0, 1.0] }

-- ==
-- entry: objective
-- input { [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0]] [[2.0, 4.0, 2.0]] [0.5, 2.0]
--         [[1.0, 1.0], [1.0, 1.0]] [0i64, 0i64] [0i64, 0i64] }
-- output { [[1.0, 2.5], [4.0, 10.0]] [0.75, -3.0] }

-- ==
-- entry: jacobian
-- input { [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0]] [[2.0, 4.0, 2.0]] [0.5]
--         [[1.0, 1.0]] [0i64] [0i64] }
-- output {
--   [0i64, 1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64, 9i64, 10i64, 11i64, 12i64, 13i64, 14i64,
--    0i64, 1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64, 8i64, 9i64, 10i64, 11i64, 12i64, 13i64, 14i64, 14i64]
--   [0i64, 15i64, 30i64, 31i64]
--   [-3.0, 3.0, -3.0, -0.75, 0.0, 0.75, 0.5, 0.5, 0.0, 7.5, 37.5, 0.75, 0.0, -0.75, 2.0,
--    -7.5, 3.0, 1.5, 0.0, -0.75, 1.5, 1.0, 0.0, 0.5, 15.0, 75.0, 0.0, 0.75, -1.5, 5.0, -1.0] }

type vector = {x: f64, y: f64, z: f64}

def add (a: vector) (b: vector): vector = {x = a.x + b.x, y = a.y + b.y, z = a.z + b.z}
def scale (k: f64) (a: vector): vector = {x = k * a.x, y = k * a.y, z = k * a.z}
def dot (a: vector) (b: vector): f64 = a.x * b.x + a.y * b.y + a.z * b.z
def cross (a: vector) (b: vector): vector =
  {x = a.y * b.z - a.z * b.y, y = a.z * b.x - a.x * b.z, z = a.x * b.y - a.y * b.x}

-- | A rotation by its axis and the cosine and sine of its angle.
type turn = {axis: vector, cos: f64, sin: f64}

-- | The rotation about an axis whose length is the angle; at zero, with the linear form of Rodrigues' formula.
def turn_about (r: vector): turn =
  let square = dot r r
  in if square == 0 then {axis = r, cos = 1, sin = 1}
     else let angle = f64.sqrt square in {axis = scale (1 / angle) r, cos = f64.cos angle, sin = f64.sin angle}

-- | Rodrigues' formula.
def turned (t: turn) (p: vector): vector =
  scale t.cos p `add` scale t.sin (cross t.axis p) `add` scale (dot t.axis p * (1 - t.cos)) t.axis

type camera = {rotation: vector, centre: vector, focal: f64, principal: (f64, f64), radial: (f64, f64)}

-- | A camera that is turned already.
def project (turn: turn) (cam: camera) (x: vector): (f64, f64) =
  let p = turned turn (x `add` scale (-1) cam.centre)
  let (u, v) = (p.x / p.z, p.y / p.z)
  let square = u * u + v * v
  let distortion = 1 + cam.radial.0 * square + cam.radial.1 * square * square
  in (cam.focal * distortion * u + cam.principal.0, cam.focal * distortion * v + cam.principal.1)

def reprojection (turn: turn) (feat: [2]f64) (cam: camera, x: vector, w: f64): (f64, f64) =
  let (u, v) = project turn cam x
  in (w * (u - feat[0]), w * (v - feat[1]))

def camera_of (a: [11]f64): camera =
  { rotation = {x = a[0], y = a[1], z = a[2]}, centre = {x = a[3], y = a[4], z = a[5]}, focal = a[6]
  , principal = (a[7], a[8]), radial = (a[9], a[10]) }

def point_of (a: [3]f64): vector = {x = a[0], y = a[1], z = a[2]}

-- | The parameters of an observation in the order of the Jacobian's columns.
def parameters (cam: camera, x: vector, w: f64): [15]f64 =
  let (r, c) = (cam.rotation, cam.centre)
  in [ r.x, r.y, r.z, c.x, c.y, c.z, cam.focal, cam.principal.0, cam.principal.1, cam.radial.0, cam.radial.1
     , x.x, x.y, x.z, w ]

def weight_error (w: f64): f64 = 1 - w * w

-- | Observation `i` is one of point `x_of[i]` by camera `cam_of[i]`.
entry objective [n][m][p]
    (cams: [n][11]f64) (xs: [m][3]f64) (ws: [p]f64) (feats: [p][2]f64) (cam_of: [p]i64) (x_of: [p]i64)
    : {reproj_error: [p][2]f64, w_err: [p]f64} =
  let turns = map (\cam -> turn_about (camera_of cam).rotation) cams
  let error w feat cam point =
    let (u, v) = reprojection turns[cam] feat (camera_of cams[cam], point_of xs[point], w) in [u, v]
  in {reproj_error = map4 error ws feats cam_of x_of, w_err = map weight_error ws}

-- | Compressed rows: two for each observation, with the parameters of its camera and its point and its weight, and then one for each
-- weight.
entry jacobian [n][m][p]
    (cams: [n][11]f64) (xs: [m][3]f64) (ws: [p]f64) (feats: [p][2]f64) (cam_of: [p]i64) (x_of: [p]i64)
    : {rows: []i64, cols: []i64, vals: []f64} =
  let weight i = 11 * n + 3 * m + i
  let columns cam point i =
    tabulate 15 (\j -> if j < 11 then 11 * cam + j else if j < 14 then 11 * n + 3 * point + j - 11 else weight i)
  let values w feat cam point =
    let at = (camera_of cams[cam], point_of xs[point], w)
    let error at = reprojection (turn_about at.0.rotation) feat at
    in map parameters (mjp error at [(1, 0), (0, 1)])
  in { rows = tabulate (2 * p) (15 *) ++ tabulate (p + 1) (30 * p +)
     , cols = flatten_3d (map3 (\cam point i -> replicate 2 (columns cam point i)) cam_of x_of (iota p))
              ++ tabulate p weight
     , vals = flatten_3d (map4 values ws feats cam_of x_of) ++ map (grad weight_error) ws }

entry prepare (n: i64) (m: i64) (p: i64) (cam: [11]f64) (x: [3]f64) (w: f64) (feat: [2]f64)
    : {cams: [n][11]f64, xs: [m][3]f64, ws: [p]f64, feats: [p][2]f64, cam_of: [p]i64, x_of: [p]i64} =
  { cams = replicate n cam, xs = replicate m x, ws = replicate p w, feats = replicate p feat
  , cam_of = tabulate p (% n), x_of = tabulate p (% m) }

entry objective_report [p] (reproj_error: [p][2]f64) (w_err: [p]f64)
    : {reproj_error: {elements: [2]f64, repeated: i64}, w_err: {element: f64, repeated: i64}} =
  {reproj_error = {elements = reproj_error[0], repeated = p}, w_err = {element = w_err[0], repeated = p}}

def ends 't [n] (a: [n]t): []t = a[:i64.min 30 n] ++ a[n - 1:]

entry jacobian_report [r][e] (rows: [r]i64) (cols: [e]i64) (vals: [e]f64): {rows: []i64, cols: []i64, vals: []f64} =
  {rows = ends rows, cols = ends cols, vals = ends vals}
