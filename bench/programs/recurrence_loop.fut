-- x_i = a_i x_(i-1) + b_i as a loop; half the sum of squares, and its gradient.
-- ==
-- entry: primal
-- input { [5.0, 2.0] [1.0, 3.0] } output { 13.0 }

-- ==
-- entry: gradient
-- input { [5.0, 2.0] [1.0, 3.0] } output { [0.0, 5.0] [11.0, 5.0] }

entry primal [n] (a: [n]f64) (b: [n]f64): f64 =
  let (_, total) = loop (x, total) = (0, 0) for i < n do
    let x = a[i] * x + b[i]
    in (x, total + x * x)
  in 0.5 * total

entry gradient [n] (a: [n]f64) (b: [n]f64): ([n]f64, [n]f64) = grad (uncurry primal) (a, b)
