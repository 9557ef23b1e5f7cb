-- Sparse Jacobians agree with jacfwd at many sizes: of one set, of several, of several levels of blocks. Derivatives inside.
-- ==
-- entry: agree
-- input { 1i64 } output { [true, true, true] }
-- input { 7i64 } output { [true, true, true] }
-- input { 61i64 } output { [true, true, true] }
-- input { 150i64 } output { [true, true, true] }

open import "jacobian_sparse"

entry agree (n: i64): []bool =
  let x = tabulate n (\i -> 0.3 + f64.sin (f64.i64 (3 * i + 1)))
  in [ agrees (\y -> tabulate n (\i -> f64.sum (map (\j -> y[j] * y[i]) (i64.max 0 (i - 2)...i)))) x
     , agrees (\y -> map2 (\a b -> grad (\c -> c * c * b + f64.sin c) a) y (rotate 1 y)) x
     , agrees (\(y: [3]f64) -> (jacobian_sparse (\(z: [3]f64) -> map2 (*) z (rotate 1 z)) y).2 :> [6]f64) [1, 2, 3] ]
