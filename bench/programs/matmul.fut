-- A matrix product, and the cotangents of both factors for one of the result.
-- ==
-- entry: primal
-- input { [[1.0, 2.0]] [[3.0, 4.0], [5.0, 6.0]] [[1.0, 10.0]] } output { [[13.0, 16.0]] }

-- ==
-- entry: gradient
-- input { [[1.0, 2.0]] [[3.0, 4.0], [5.0, 6.0]] [[1.0, 10.0]] } output { [[43.0, 65.0]] [[1.0, 10.0], [2.0, 20.0]] }

def matmul [m][k][n] (a: [m][k]f64) (b: [k][n]f64): [m][n]f64 =
  map (\row -> map (\column -> f64.sum (map2 (*) row column)) (transpose b)) a

entry primal [m][k][n] (a: [m][k]f64) (b: [k][n]f64) (_c_ct: [m][n]f64): [m][n]f64 = matmul a b

entry gradient [m][k][n] (a: [m][k]f64) (b: [k][n]f64) (c_ct: [m][n]f64): ([m][k]f64, [k][n]f64) = vjp (uncurry matmul) (a, b) c_ct
