-- What convolutions add to places that overlap: cotangents of the signal, of the kernel, and of both; kernels longer than what comes out; nothing to
-- add; places that are not there.
-- Expected values: reverse mode of the interpreter, equal to forward mode.
-- ==
-- entry: both
-- input { 3i64 [1.0, 2.0, 3.0, 4.0, 5.0] [1.0, -1.0, 2.0] } output { [10.0, 4.0, 24.0, 10.0, 36.0] [92.0, 134.0, 176.0] }
-- input { 2i64 [1.0, 2.0, 3.0, 4.0, 5.0] [1.0, -1.0, 2.0, 3.0] } output { [34.0, 10.0, 24.0, 190.0, 132.0] [122.0, 200.0, 278.0, 356.0] }
-- input { 5i64 [1.0, 2.0, 3.0, 4.0, 5.0] [2.0] } output { [8.0, 16.0, 24.0, 32.0, 40.0] [220.0] }
-- input { 1i64 [1.0, 5.0] [1.0, 2.0] } output { [22.0, 44.0] [22.0, 110.0] }
-- input { 0i64 empty([0]f64) [1.0, 2.0] } output { empty([0]f64) [0.0, 0.0] }
-- input { 2i64 [1.0, 2.0] empty([0]f64) } output { [0.0, 0.0] empty([0]f64) }
-- input { 0i64 [1.0] [1.0, 2.0] } output { [0.0] [0.0, 0.0] }
-- input { 4i64 [1.0, 2.0, 3.0, 4.0, 5.0] [1.0, -1.0, 2.0] } error: index 5 out of bounds for size 5

-- ==
-- entry: of_signal
-- input { 4i64 [1.0, 2.0, 3.0, 4.0, 5.0] [1.0, -1.0] } output { [-2.0, 0.0, 0.0, 0.0, 2.0] }
-- input { 2i64 [1.0, 2.0, 3.0, 4.0, 5.0] [1.0, -1.0] } output { [-2.0, 0.0, 2.0, 0.0, 0.0] }
-- input { 3i64 [1.0, 5.0] [1.0, 2.0] } error: index 2 out of bounds for size 2

-- ==
-- entry: of_kernel
-- input { 4i64 [1.0, 2.0, 3.0, 4.0, 5.0] [1.0, -1.0] } output { [-20.0, -28.0] }

-- ==
-- entry: one_row
-- input { 2i64 1i64 [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] [1.0, 3.0] } output { [[0.0, 0.0, 0.0], [38.0, 160.0, 138.0]] }
-- input { 0i64 2i64 [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] [1.0, 3.0] } output { [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]] }
-- input { 2i64 2i64 [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]] [1.0, 3.0] } error: index 2 out of bounds for size 2

-- ==
-- entry: planes
-- input { [[[1.0, 2.0, 3.0], [4.0, -5.0, 6.0], [7.0, 8.0, -9.0]], [[1.0, 0.5, 3.0], [0.25, -5.0, 2.0], [7.0, 8.0, -1.0]]]
--   [[[[1.0, -2.0], [0.5, 3.0]], [[1.0, 2.0], [-0.5, 1.0]]]] }
-- output { [[[0.0, 45.0, -90.0], [72.5, -122.5, 135.0], [36.25, 217.5, 0.0]], [[0.0, 45.0, 90.0], [72.5, 122.5, 45.0], [-36.25, 72.5, 0.0]]]
--   [[[[380.0, -227.5], [282.5, 850.0]], [[40.625, -227.5], [282.5, 670.0]]]] }

-- ==
-- entry: one_number
-- input { 2i64 2i64 [1.0, 2.0, 4.0] [3.0, 5.0] } output { [54.0, 162.0, 108.0] [270.0, 0.0] }

-- Rows that are longer than any group of iterations that run side by side, and kernels that are larger than what comes out.
-- ==
-- entry: adjoint
-- input { 1i64 2i64 37i64 2i64 3i64 } output { true }
-- input { 2i64 2i64 5i64 1i64 2i64 } output { true }
-- input { 1i64 1i64 2i64 2i64 4i64 } output { true }

def correlate [n][k] (m: i64) (x: [n]f64) (w: [k]f64): [m]f64 =
  tabulate m (\i -> f64.sum (tabulate k (\j -> x[i + j] * w[j])))

def energy [n] (x: [n]f64): f64 = f64.sum (map (\s -> s * s) x)

entry both [n][k] (m: i64) (x: [n]f64) (w: [k]f64): ([n]f64, [k]f64) = vjp (\(x, w) -> energy (correlate m x w)) (x, w) 1

entry of_signal [n][k] (m: i64) (x: [n]f64) (w: [k]f64): [n]f64 = vjp (\x -> energy (correlate m x w)) x 1

entry of_kernel [n][k] (m: i64) (x: [n]f64) (w: [k]f64): [k]f64 = vjp (\w -> energy (correlate m x w)) w 1

entry one_row [n][k] (m: i64) (r: i64) (x: [][n]f64) (w: [k]f64): [][n]f64 =
  vjp (\x -> f64.sum (tabulate m (\i -> f64.sum (tabulate k (\j -> x[r, i + j] * w[j])) ** 2))) x 1

-- Windows of one array, and one number of another.
entry one_number [n][k] (rows: i64) (columns: i64) (x: [n]f64) (w: [k]f64): ([n]f64, [k]f64) =
  vjp (\(x, w) -> energy (tabulate rows (\i -> f64.sum (tabulate columns (\j -> x[i + j] * w[0])))) / 3) (x, w) 3

def convolve [c][h][v][d][a][b] (x: [c][h][v]f64) (w: [d][c][a][b]f64) (rows: i64) (columns: i64): [d][rows][columns]f64 =
  tabulate_3d d rows columns (\o y z ->
    f64.sum (tabulate c (\i -> f64.sum (tabulate a (\p -> f64.sum (tabulate b (\q -> x[i, y + p, z + q] * w[o, i, p, q])))))))

entry planes [c][h][v][d][a][b] (x: [c][h][v]f64) (w: [d][c][a][b]f64): ([c][h][v]f64, [d][c][a][b]f64) =
  let f x w = convolve x w (h - a + 1) (v - b + 1) |> map (map (map (\s -> f64.max s 0 * s) >-> f64.sum) >-> f64.sum) |> f64.sum
  in vjp (uncurry f) (x, w) 1

-- The inner product of a cotangent with a tangent pushed forward, and of the tangent with the cotangent pulled back.
entry adjoint (c: i64) (rows: i64) (columns: i64) (a: i64) (b: i64): bool =
  let number i = f64.i64 ((i * 7919 + 13) % 101) / 50 - 1
  let x = tabulate_3d c (rows + a - 1) (columns + b - 1) (\i y z -> number (i + 3 * y + 17 * z))
  let w = tabulate_2d 2 c (\o i -> tabulate_2d a b (\p q -> number (o + 2 * i + p * p + 5 * q)))
  let f (x, w) = convolve x w rows columns
  let (dx, dw) = (map (map (map (\a -> a * a - 1))) x, map (map (map (map (\a -> 2 - a)))) w)
  let ct = tabulate_3d 2 rows columns (\o y z -> number (5 * o + 11 * y + z))
  let forwards = jvp f (x, w) (dx, dw)
  let (x_ct, w_ct) = vjp f (x, w) ct
  let dot a b = f64.sum (map2 (*) a b)
  let left = dot (flatten_3d ct) (flatten_3d forwards)
  let right = dot (flatten_3d x_ct) (flatten_3d dx) + dot (flatten_4d w_ct) (flatten_4d dw)
  in f64.abs (left - right) <= 1e-9 * f64.max 1 (f64.abs left)
