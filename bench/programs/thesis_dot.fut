-- A dot product and its gradient.
-- ==
-- entry: primal
-- input { [1.0, 2.0] [3.0, 4.0] } output { 11.0 }

-- ==
-- entry: gradient
-- input { [1.0, 2.0] [3.0, 4.0] } output { [3.0, 4.0] [1.0, 2.0] }

entry primal [n] (a: [n]f64) (b: [n]f64): f64 = f64.sum (map2 (*) a b)

entry gradient [n] (a: [n]f64) (b: [n]f64): ([n]f64, [n]f64) = grad (uncurry primal) (a, b)
