-- Linear regression: mean squared error of a line through points, its gradient, and a few steps of gradient descent.
-- Expected values: closed form.
-- ==
-- entry: loss
-- input { [1.0, 2.0, 3.0] [2.0, 4.5, 5.5] 1.5 0.25 }
-- output { 0.7291666666666666 }

-- ==
-- entry: gradient
-- input { [1.0, 2.0, 3.0] [2.0, 4.5, 5.5] 1.5 0.25 }
-- output { -3.3333333333333335 -1.5 }

-- ==
-- entry: fit
-- input { [0.0, 1.0, 2.0, 3.0] [1.0, 3.0, 5.0, 7.0] 2000i64 }
-- output { 2.0 1.0 }

-- | How far the line is from the points, on average and squared.
entry loss [n] (xs: [n]f64) (ys: [n]f64) (slope: f64) (offset: f64): f64 =
  f64.sum (map2 (\x y -> (slope * x + offset - y) ** 2) xs ys) / f64.i64 n

entry gradient [n] (xs: [n]f64) (ys: [n]f64) (slope: f64) (offset: f64): (f64, f64) =
  grad (\(s, o) -> loss xs ys s o) (slope, offset)

entry fit [n] (xs: [n]f64) (ys: [n]f64) (steps: i64): (f64, f64) =
  loop (s, o) = (0, 0) for _i < steps do
    let (ds, dO) = gradient xs ys s o
    in (s - 0.1 * ds, o - 0.1 * dO)
