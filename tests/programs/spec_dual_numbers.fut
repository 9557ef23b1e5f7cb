-- Worked examples of dual-numbers reverse differentiation with their expected results: values and gradients. What they cost is tested
-- in crates/chadwick/tests/worked_examples.rs.

-- 1. Polynomials of one, two and three variables.

-- ==
-- entry: square_gradient
-- input { 3.0 } output { 9.0 6.0 }
def square (x: f64) = x * x
entry square_gradient (x: f64) = vjp2 square x 1

-- ==
-- entry: quadratic_gradient
-- input { 2.0 3.0 } output { 13.0 6.0 }
def quadratic (x: f64, y: f64) = x ** 2 + 3 * x * y
entry quadratic_gradient (x: f64) (y: f64) = vjp quadratic (x, y) 1

-- ==
-- entry: two_results_by_rows two_results_by_columns
-- input { [2.0, 3.0, 5.0] } output { [[29.0, 6.0, 4.0], [25.0, 24.0, 20.0]] }
def two_results (v: [3]f64): [2]f64 =
  let (x, y, z) = (v[0], v[1], v[2])
  in [x ** 2 * z + 3 * x * y, x * z ** 2 + 4 * y ** 2]
entry two_results_by_rows (v: [3]f64) = jacrev two_results v
entry two_results_by_columns (v: [3]f64) = jacfwd two_results v

-- 2. A chain of bindings, each used twice.
-- ==
-- entry: shared_gradient
-- input { 2.0 3.0 } output { 48.0 48.0 28.0 }
def shared (x: f64, y: f64) =
  let a = x * y
  let b = x + a
  let c = b * a
  in c
entry shared_gradient (x: f64) (y: f64) = let (c, (dx, dy)) = vjp2 shared (x, y) 1 in (c, dx, dy)

-- 3. Partial derivatives of intermediate results: of d by b, of c by a, of the result by a.
-- ==
-- entry: local_derivatives
-- input { 0.5 } output { 3.0 8.1875 70.08203125 }
entry local_derivatives (a: f64) =
  let c_of (a: f64) (b: f64) = 3 * b + 7 * a ** 5
  let d_of (a: f64) (b: f64) = c_of a b + 1
  let d_by_b = vjp (d_of a) (2 * a) 1
  let c_by_a = vjp (\a -> c_of a (2 * a)) a 1
  let result_by_a = vjp (\a -> let d = d_of a (2 * a) in d ** 2 + a) a 1
  in (d_by_b, c_by_a, result_by_a)

-- 4. A condition on a real number; the boundary belongs to the second branch.
-- ==
-- entry: conditional_derivative
-- input { 1.0 } output { 3.0 }
-- input { -0.5 } output { 0.0 }
-- input { -1.0 } output { 1.0 }
-- input { -3.0 } output { 1.0 }
def conditional (a: f64) = let b = a + 1 in if b > 0 then a * b else b
entry conditional_derivative (a: f64) = vjp conditional a 1

-- 5. The running example.
-- ==
-- entry: running_gradient
-- input { 12.0 13.0 } output { 300.0 37.0 12.0 }
def running (x: f64, y: f64) = let z = x + y in x * z
entry running_gradient (x: f64) (y: f64) = let (v, (dx, dy)) = vjp2 running (x, y) 1 in (v, dx, dy)

-- 7. Doubling: the value and the gradient grow exponentially, the work does not.
-- ==
-- entry: doubling_gradient
-- input { 10i64 1.5 } output { 1536.0 1024.0 }
-- input { 1000i64 1.5 } output { 1.607262910779401e+301 1.0715086071862673e+301 }
def doubling (n: i64) (x: f64) = loop x for _i < n do x + x
entry doubling_gradient (n: i64) (x: f64) = vjp2 (doubling n) x 1

-- Scaled, so that it stays finite however long it is.
-- ==
-- entry: scaled_doubling_gradient
-- input { 100000i64 1.5 } output { 1.5 1.0 }
def scaled_doubling (n: i64) (x: f64) = loop x for _i < n do 0.5 * (x + x)
entry scaled_doubling_gradient (n: i64) (x: f64) = vjp2 (scaled_doubling n) x 1

-- 8. exp is used three times but differentiated once.
-- ==
-- entry: exp_log_tan_gradient
-- input { 0.7 } output { 2.856041087933556 3.7232024233335936 }
def exp_log_tan (x: f64) =
  let y = f64.exp x
  let z = f64.log y
  in y + f64.sin z / f64.cos z
entry exp_log_tan_gradient (x: f64) = vjp2 exp_log_tan x 1

-- 10. Gathers, scatters, builds, folds and scans.
def gather [n][k] (xs: [n]i64) (is: [k]i64) = map (\i -> xs[i]) is
def scatter_add [n] (k: i64) (xs: [n]i64) (is: [n]i64) = reduce_by_index (replicate k 0) (+) 0 is xs

-- ==
-- entry: pairs_summed
-- input { [1i64, 2, 3, 4, 5, 6, 7, 8, 9] } output { [3i64, 7, 11, 15, 9, 0] }
entry pairs_summed (xs: [9]i64) = scatter_add 6 xs (map (/ 2) (iota 9))

-- ==
-- entry: gathered
-- input { [2i64, 4, 7] [1i64, 1, 2, 0] } output { [4i64, 4, 7, 2] }
entry gathered (xs: []i64) (is: []i64) = gather xs is

-- ==
-- entry: scattered
-- input { 5i64 [2i64, 4, 7, 8] [1i64, 0, 3, 0] } output { [12i64, 2, 0, 7, 0] }
entry scattered [n] (k: i64) (xs: [n]i64) (is: [n]i64) = scatter_add k xs is

-- ==
-- entry: squares
-- input { 4i64 } output { [0i64, 1, 4, 9] }
entry squares (n: i64) = tabulate n (\i -> i * i)

-- ==
-- entry: folded_and_scanned
-- input { [1i64, 2, 3, 4] } output { 10i64 [0i64, 1, 3, 6, 10] }
entry folded_and_scanned [n] (xs: [n]i64) = (foldl (+) 0 xs, [0] ++ scan (+) 0 xs)

-- ==
-- entry: scattered_with_combination
-- input { [4i64, 7, 6, 1] } output { [5i64, 7, 6, 0] }
entry scattered_with_combination (xs: [4]i64) = reduce_by_index [0, 0, 0, 0] (+) 0 (map (% 3) (iota 4)) xs

-- ==
-- entry: shifted
-- input { [3i64, 5, 4, 1, 2] } output { [5i64, 4, 1] }
entry shifted (xs: [5]i64) = gather xs (map (+ 1) (iota 3))

-- A gather of a gather is a gather.
-- ==
-- entry: gather_of_gather one_gather
-- input { 7i64 3i64 [3i64, 5, 4, 1, 2] } output { [5i64, 4, 1, 5, 4, 1, 5] }
entry gather_of_gather (k: i64) (n: i64) (xs: []i64) = gather (gather xs (map (+ 1) (iota n))) (map (% n) (iota k))
entry one_gather (k: i64) (n: i64) (xs: []i64) = gather xs (map (\i -> i % n + 1) (iota k))

-- ==
-- entry: filtered
-- input { [3i64, 8, -16, 7, 2] } output { [8i64, 7] }
entry filtered (xs: []i64) = filter (> 4) xs

-- The cotangent of what was gathered is scattered, and the other way round.
-- ==
-- entry: gather_cotangent
-- input { [2.0, 4.0, 7.0] [1i64, 1, 2, 0] [10.0, 20.0, 30.0, 40.0] } output { [40.0, 30.0, 30.0] }
entry gather_cotangent [n][k] (xs: [n]f64) (is: [k]i64) (ys': [k]f64) = vjp (\xs -> map (\i -> xs[i]) is) xs ys'

-- ==
-- entry: scatter_cotangent
-- input { [2.0, 4.0, 7.0, 8.0] [1i64, 0, 3, 0] [1.0, 2.0, 3.0, 4.0, 5.0] } output { [2.0, 1.0, 4.0, 1.0] }
entry scatter_cotangent [n] (xs: [n]f64) (is: [n]i64) (ys': [5]f64) =
  vjp (\xs -> reduce_by_index (replicate 5 0) (+) 0 is xs) xs ys'

-- 11. Sums of rows, and a rotation of four dimensions.
-- ==
-- entry: sum_outer
-- input { [[1i64, 2, 3], [4i64, 5, 6], [7i64, 8, 9]] } output { [12i64, 15, 18] }
entry sum_outer (rows: [3][3]i64) = reduce (map2 (+)) (replicate 3 0) rows

-- Dimension a of the result is dimension (3, 0, 1, 2) of the argument.
-- ==
-- entry: rotated_dimensions
-- input { } output { 9i64 5i64 3i64 6i64 true }
entry rotated_dimensions =
  let number i j k l = ((i * 3 + j) * 6 + k) * 9 + l : i64
  let a = tabulate_3d 5 3 6 (\i j k -> tabulate 9 (number i j k))
  let b = a |> map (map transpose) |> map transpose |> transpose
  let right = tabulate_3d 9 5 3 (\l i j -> and (tabulate 6 (\k -> b[l, i, j, k] == number i j k l)))
  in (length b, length b[0], length b[0, 0], length b[0, 0, 0], and (map and (map (map and) right)))

-- 12. Rotation of a vector by a quaternion.
type vec3 = {x: f64, y: f64, z: f64}
type quaternion = {x: f64, y: f64, z: f64, w: f64}

def rotate_by (q: quaternion, v: vec3): vec3 =
  let dot (a: vec3) (b: vec3) = a.x * b.x + a.y * b.y + a.z * b.z
  let cross (a: vec3) (b: vec3): vec3 = {x = a.y * b.z - a.z * b.y, y = a.z * b.x - a.x * b.z, z = a.x * b.y - a.y * b.x}
  let scale k (a: vec3): vec3 = {x = k * a.x, y = k * a.y, z = k * a.z}
  let add (a: vec3) (b: vec3): vec3 = {x = a.x + b.x, y = a.y + b.y, z = a.z + b.z}
  let axis = {x = q.x, y = q.y, z = q.z}
  in scale (2 * dot axis v) axis `add` (scale (q.w ** 2 - dot axis axis) v `add` scale (2 * q.w) (cross axis v))

def inputs (q: [4]f64) (v: [3]f64): (quaternion, vec3) =
  ({x = q[0], y = q[1], z = q[2], w = q[3]}, {x = v[0], y = v[1], z = v[2]})

-- ==
-- entry: rotation
-- input { [1.1, 2.2, 3.3, 4.4] [5.5, 6.6, 7.7] } output { [71.874, 303.468, 279.51] }
entry rotation (q: [4]f64) (v: [3]f64) = let r = rotate_by (inputs q v) in [r.x, r.y, r.z]

-- ==
-- entry: rotation_jacobian
-- input { [1.1, 2.2, 3.3, 4.4] [5.5, 6.6, 7.7] }
-- output { [[91.96, 58.08, -77.44, 38.72, 4.84, -24.2, 26.62], [-58.08, 91.96, 38.72, 77.44, 33.88, 12.1, 4.84], [77.44, -38.72, 91.96, 58.08, -12.1, 24.2, 24.2]] }
entry rotation_jacobian (q: [4]f64) (v: [3]f64): [3][7]f64 =
  let rows = mjp rotate_by (inputs q v) [{x = 1, y = 0, z = 0}, {x = 0, y = 1, z = 0}, {x = 0, y = 0, z = 1}]
  in map (\(q', v') -> [q'.x, q'.y, q'.z, q'.w, v'.x, v'.y, v'.z]) rows

-- 16. The first three of the reversed array: their gradient is 1 on the last three.
-- ==
-- entry: reversed_gradient shared_gather_gradient
-- input { [1.0, 2.0, 3.0, 4.0, 5.0] } output { [0.0, 0.0, 1.0, 1.0, 1.0] }
def reversed [n] (xs: [n]f64) = let ys = reverse xs in ys[0] + ys[1] + ys[2]
def shared_gather [n] (xs: [n]f64) = let ys = map (\i -> xs[n - 1 - i]) (iota n) in ys[0] + ys[1] + ys[2]
entry reversed_gradient [n] (xs: [n]f64) = vjp reversed xs 1
entry shared_gather_gradient [n] (xs: [n]f64) = vjp shared_gather xs 1
