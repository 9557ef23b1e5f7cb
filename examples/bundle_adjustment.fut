-- Bundle adjustment: how far a camera projects a point from where it was seen, and the Jacobian of that residual in the camera's
-- eleven and the point's three parameters.
-- Expected values: JAX.
-- ==
-- entry: residual
-- input { [0.1, -0.2, 0.3, 1.0, 2.0, -3.0, 500.0, 320.0, 240.0, 0.01, -0.001] [0.5, 0.7, 2.0] 0.9 [300.0, 200.0] }
-- output { [-76.07082064240824, -157.96634643591767] }

-- ==
-- entry: jacobian_reverse jacobian_forward
-- input { [0.1, -0.2, 0.3, 1.0, 2.0, -3.0, 500.0, 320.0, 240.0, 0.01, -0.001] [0.5, 0.7, 2.0] 0.9 [300.0, 200.0] }
-- output { [[47.904047364159425, 477.22348549340666, 168.2892775318587, -94.48313941402002, 27.670214351038172, -2.2540582101320723, -0.1881416412848165, 0.9, 0.0, -21.444615341832616, -4.899480986229359, 94.48313941402002, -27.670214351038172, 2.2540582101320723],
-- [-528.5995733316855, 118.3017098858394, -45.39806415254353, -36.26523582884475, -94.6517670843065, -28.235983024804163, -0.38793269287183535, 0.0, 0.9, -44.21704477725937, -10.102329498577088, 36.26523582884475, 94.6517670843065, 28.235983024804163]] }

type point = {x: f64, y: f64, z: f64}

def add (a: point) (b: point): point = {x = a.x + b.x, y = a.y + b.y, z = a.z + b.z}
def scale (k: f64) (a: point): point = {x = k * a.x, y = k * a.y, z = k * a.z}
def dot (a: point) (b: point): f64 = a.x * b.x + a.y * b.y + a.z * b.z
def cross (a: point) (b: point): point =
  {x = a.y * b.z - a.z * b.y, y = a.z * b.x - a.x * b.z, z = a.x * b.y - a.y * b.x}
def of_array (a: [3]f64): point = {x = a[0], y = a[1], z = a[2]}

-- | Rotation about an axis whose length is the angle (Rodrigues' formula); near zero its linear form.
def rotate_about (r: point) (p: point): point =
  let square = dot r r
  in if square == 0 then add p (cross r p)
     else let angle = f64.sqrt square
          let axis = scale (1 / angle) r
          let c = f64.cos angle
          in scale c p `add` (scale (f64.sin angle) (cross axis p) `add` scale (dot axis p * (1 - c)) axis)

-- | Radial distortion with two coefficients.
def distort (k1: f64) (k2: f64) (u: f64, v: f64): (f64, f64) =
  let square = u * u + v * v
  let l = 1 + k1 * square + k2 * square * square
  in (l * u, l * v)

def project (camera: [11]f64) (p: [3]f64): [2]f64 =
  let turned = rotate_about (of_array (sized 3 camera[0:3])) (add (of_array p) (scale (-1) (of_array (sized 3 camera[3:6]))))
  let (u, v) = distort camera[9] camera[10] (turned.x / turned.z, turned.y / turned.z)
  in [camera[7] + camera[6] * u, camera[8] + camera[6] * v]

entry residual (camera: [11]f64) (p: [3]f64) (weight: f64) (seen: [2]f64): [2]f64 =
  map2 (\a b -> weight * (a - b)) (project camera p) seen

def packed (weight: f64) (seen: [2]f64) (v: [14]f64): [2]f64 =
  residual (sized 11 v[0:11]) (sized 3 v[11:14]) weight seen

entry jacobian_reverse (camera: [11]f64) (p: [3]f64) (weight: f64) (seen: [2]f64): [2][14]f64 =
  jacrev (packed weight seen) (sized 14 (camera ++ p))

entry jacobian_forward (camera: [11]f64) (p: [3]f64) (weight: f64) (seen: [2]f64): [2][14]f64 =
  jacfwd (packed weight seen) (sized 14 (camera ++ p))
