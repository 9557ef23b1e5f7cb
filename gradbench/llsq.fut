-- Least squares: a polynomial with coefficients x, fitted to the sign function at n points between -1 and 1.
-- Expected values: by hand.
-- ==
-- entry: primal
-- input { [0.0, 0.0] 3i64 } output { 1.0 }
-- input { [1.0, 2.0] 3i64 } output { 2.5 }

-- ==
-- entry: gradient
-- input { [0.0, 0.0] 3i64 } output { [0.0, -2.0] }
-- input { [1.0, 2.0] 3i64 } output { [3.0, 2.0] }

def polynomial [m] (x: [m]f64) (t: f64): f64 =
  (loop (sum, power) = (0, 1) for c in x do (sum + c * power, power * t)).0

entry primal [m] (x: [m]f64) (n: i64): f64 =
  let residual i =
    let t = -1 + 2 * f64.i64 i / f64.i64 (n - 1)
    in f64.sgn t - polynomial x t
  in 0.5 * f64.sum (tabulate n (\i -> residual i ** 2))

entry gradient [m] (x: [m]f64) (n: i64): [m]f64 = grad (\x -> primal x n) x
