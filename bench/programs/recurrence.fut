-- x_i = a_i x_(i-1) + b_i as a scan over linear functions; half the sum of squares, and its gradient.
-- ==
-- entry: primal
-- input { [5.0, 2.0] [1.0, 3.0] } output { 13.0 }

-- ==
-- entry: gradient
-- input { [5.0, 2.0] [1.0, 3.0] } output { [0.0, 5.0] [11.0, 5.0] }

entry primal [n] (a: [n]f64) (b: [n]f64): f64 =
  let after (a, b) (c, d) = (a * c, b * c + d)
  let (_, x) = unzip (scan after (1, 0) (zip a b))
  in 0.5 * f64.sum (map (\x -> x * x) x)

entry gradient [n] (a: [n]f64) (b: [n]f64): ([n]f64, [n]f64) = grad (uncurry primal) (a, b)
