-- The pattern of a Jacobian, and its values against those of jacfwd. Patterns by hand: row by row, what each result is made of.
-- ==
-- entry: diagonal
-- input { [1.0, 2.0, 3.0] }
-- output { true [0i64, 1i64, 2i64, 3i64] [0i64, 1i64, 2i64] [2.0, 4.0, 6.0] }
-- input { empty([0]f64) } output { true [0i64] empty([0]i64) empty([0]f64) }

-- ==
-- entry: dense
-- input { [1.0, 2.0, 3.0] }
-- output { true [0i64, 3i64, 6i64, 9i64] [0i64, 1i64, 2i64, 0i64, 1i64, 2i64, 0i64, 1i64, 2i64]
--          [6.0, 3.0, 2.0, 12.0, 6.0, 4.0, 18.0, 9.0, 6.0] }

-- ==
-- entry: blocks
-- input { [1.0, 2.0, 3.0, 4.0] }
-- output { true [0i64, 2i64, 4i64, 6i64, 8i64] [0i64, 1i64, 0i64, 1i64, 2i64, 3i64, 2i64, 3i64]
--          [2.0, 1.0, 1.0, 1.0, 4.0, 3.0, 1.0, 1.0] }

-- Nothing depends on anything.
-- ==
-- entry: constants
-- input { [1.5, 2.5] } output { true [0i64, 0i64, 1i64, 1i64, 1i64] [0i64] [1.0] }
-- input { [1.5] } output { true [0i64, 0i64, 1i64, 1i64, 1i64] [0i64] [1.0] }

-- ==
-- entry: no_results
-- input { [1.0, 2.0] } output { true [0i64] empty([0]i64) empty([0]f64) }

-- ==
-- entry: gather
-- input { [2i64, 0i64, 2i64, 1i64] [1.0, 2.0, 3.0] }
-- output { true [0i64, 1i64, 2i64, 3i64, 4i64] [2i64, 0i64, 2i64, 1i64] [6.0, 2.0, 6.0, 4.0] }

-- The branch at the point is what counts, of `if` as of `min` and `max`.
-- ==
-- entry: branches
-- input { [1.0, 2.0, -3.0] }
-- output { true [0i64, 1i64, 2i64, 3i64, 3i64] [1i64, 0i64, 1i64] [4.0, 1.0, 1.0] }
-- input { [-1.0, 2.0, -3.0] }
-- output { true [0i64, 1i64, 2i64, 3i64, 3i64] [2i64, 0i64, 1i64] [1.0, 1.0, 1.0] }

-- A product with zero depends on both factors, and so does a quotient.
-- ==
-- entry: zeros
-- input { [0.0, 2.0, 0.0] }
-- output { true [0i64, 2i64, 4i64] [0i64, 2i64, 0i64, 1i64] [0.0, 0.0, 0.5, 0.0] }

-- ==
-- entry: recurrence
-- input { [1.0, 2.0, 3.0, 4.0] }
-- output { true [0i64, 1i64, 3i64, 6i64, 10i64] [0i64, 0i64, 1i64, 0i64, 1i64, 2i64, 0i64, 1i64, 2i64, 3i64]
--          [1.0, 0.5, 1.0, 0.25, 0.5, 1.0, 0.125, 0.25, 0.5, 1.0] }

-- ==
-- entry: singles
-- input { [1.5f32, 2.5f32, 3.5f32] }
-- output { [0i64, 2i64, 4i64] [0i64, 1i64, 1i64, 2i64] [2.5f32, 1.5f32, 3.5f32, 2.5f32] }

-- ==
-- entry: sparse_hessian
-- input { [-0.5, 1.5, 0.7] }
-- output { [0i64, 2i64, 5i64, 7i64] [0i64, 1i64, 0i64, 1i64, 2i64, 1i64, 2i64]
--          [-298.0, 200.0, 200.0, 2622.0, -600.0, -600.0, 200.0] }

-- ==
-- entry: rules
-- input { [1.0, 2.0, 3.0] }
-- output { true [0i64, 1i64, 2i64, 4i64] [1i64, 1i64, 0i64, 2i64] [10.0, 4.0, 3.0, 1.0] }

-- The Jacobian's values are numbers like others: the gradient of the sum of the squares of those of the diagonal.
-- ==
-- entry: of_values
-- input { [1.0, 2.0, 3.0] } output { [8.0, 16.0, 24.0] }

def densified [m][n][k] (offsets: [m + 1]i64, columns: [k]i64, values: [k]f64): [m][n]f64 =
  tabulate m (\i -> loop row = replicate n 0 for e in offsets[i]..<offsets[i + 1] do row with [columns[e]] = values[e])

def same [m][n] (a: [m][n]f64) (b: [m][n]f64): bool =
  let largest = f64.maximum (map f64.abs (flatten a))
  in and (map2 (\x y -> f64.abs (x - y) <= 1e-12 * f64.max 1 largest) (flatten a) (flatten b))

def agrees [n][m] (f: [n]f64 -> [m]f64) (x: [n]f64): bool =
  same (jacfwd f x) (densified (jacobian_sparse f x))

def checked [n][m] (f: [n]f64 -> [m]f64) (x: [n]f64): (bool, []i64, []i64, []f64) =
  let (offsets, columns, values) = jacobian_sparse f x
  in (agrees f x, offsets, columns, values)

entry diagonal [n] (x: [n]f64) = checked (map (\y -> y * y)) x
entry dense [n] (x: [n]f64) = checked (\y -> tabulate n (\i -> f64.i64 (i + 1) * f64.product y)) x
entry blocks [n] (x: [n]f64) =
  checked (\y -> tabulate n (\i -> let (a, b) = (y[i / 2 * 2], y[i / 2 * 2 + 1]) in if i % 2 == 0 then a * b else a + b)) x
entry constants [n] (x: [n]f64) = checked (\y -> [1, y[0], f64.floor y[0], if y[n - 1] > 0 then 3 else 4]) x
entry no_results [n] (x: [n]f64) = checked (\y -> map (\i -> y[i]) (iota 0)) x
entry gather [m][n] (is: [m]i64) (x: [n]f64) = checked (\y -> map (\i -> y[i] * y[i]) is) x
entry branches (x: [3]f64) =
  checked (\y -> [if y[0] > 0 then y[1] * y[1] else y[2], f64.min y[0] y[1], f64.max (y[0] - 5) y[1], f64.round y[2]]) x
entry zeros (x: [3]f64) = checked (\y -> [y[0] * y[2], y[0] / y[1]]) x
entry recurrence [n] (x: [n]f64) =
  checked (\y -> (loop (s, out) = (0, replicate n 0) for i < n do let s = s / 2 + y[i] in (s, out with [i] = s)).1) x
entry singles (x: [3]f32) = jacobian_sparse (\y -> map2 (*) (init y) (tail y) :> [2]f32) x

def rosenbrock [n] (x: [n]f64): f64 =
  f64.sum (tabulate (n - 1) (\i -> 100 * (x[i + 1] - x[i] * x[i]) ** 2 + (1 - x[i]) ** 2))

entry sparse_hessian [n] (x: [n]f64) = jacobian_sparse (grad rosenbrock) x

-- The first rule looks at other places than its function, which is of integers; the second gives what its function would.
entry rules (x: [3]f64) =
  let shifted = with_jvp (\(a, _) -> f64.i64 (i64.f64 a)) (\(_, b) (_, b') -> 5 * b * b')
  let square = with_vjp (\a -> a * a) (\_ y' -> y')
  in checked (\y -> [shifted (y[0], y[1]), square y[1], y[0] * y[2] + 0]) x

entry of_values [n] (x: [n]f64) =
  grad (\y -> let (_, _, values) = jacobian_sparse (map (\a -> a * a)) y in f64.sum (map (\v -> v * v) values)) x
