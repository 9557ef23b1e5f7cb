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

def powers (m: i64) (t: f64): [m]f64 = scan (*) 1 (tabulate m (\j -> if j == 0 then 1 else t))

def polynomial [m] (x: [m]f64) (t: f64): f64 = f64.sum (map2 (*) x (powers m t))

entry primal [m] (x: [m]f64) (n: i64): f64 =
  let residual i =
    let t = -1 + 2 * f64.i64 i / f64.i64 (n - 1)
    in f64.sgn t - polynomial x t
  in 0.5 * f64.sum (tabulate n (\i -> residual i ** 2))

entry gradient [m] (x: [m]f64) (n: i64): [m]f64 = grad (\x -> primal x n) x
