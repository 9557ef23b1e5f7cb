-- A matrix times a vector, and the cotangents of both for one of the result.
-- ==
-- entry: primal
-- input { [[1.0, 2.0], [3.0, 4.0]] [5.0, 6.0] [1.0, 10.0] } output { [17.0, 39.0] }

-- ==
-- entry: gradient
-- input { [[1.0, 2.0], [3.0, 4.0]] [5.0, 6.0] [1.0, 10.0] } output { [[5.0, 6.0], [50.0, 60.0]] [31.0, 42.0] }

def matvec [m][n] (a: [m][n]f64) (x: [n]f64): [m]f64 = map (\row -> f64.sum (map2 (*) row x)) a

entry primal [m][n] (a: [m][n]f64) (x: [n]f64) (_y_ct: [m]f64): [m]f64 = matvec a x

entry gradient [m][n] (a: [m][n]f64) (x: [n]f64) (y_ct: [m]f64): ([m][n]f64, [n]f64) = vjp (uncurry matvec) (a, x) y_ct
