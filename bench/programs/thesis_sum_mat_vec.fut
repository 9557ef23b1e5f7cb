-- The sum of a matrix times a vector, and its gradient in both.
-- ==
-- entry: primal
-- input { [[1.0, 2.0], [3.0, 4.0]] [5.0, 6.0] } output { 56.0 }

-- ==
-- entry: gradient
-- input { [[1.0, 2.0], [3.0, 4.0]] [5.0, 6.0] } output { [[5.0, 6.0], [5.0, 6.0]] [4.0, 6.0] }

entry primal [m][n] (a: [m][n]f64) (x: [n]f64): f64 = f64.sum (map (\row -> f64.sum (map2 (*) row x)) a)

entry gradient [m][n] (a: [m][n]f64) (x: [n]f64): ([m][n]f64, [n]f64) = grad (uncurry primal) (a, x)
