-- Sparse Jacobians agree with jacfwd at many sizes: of one set, of several, of several levels of blocks. Scans, histograms, scatters, gathers.
-- ==
-- entry: agree
-- input { 1i64 } output { [true, true, true, true, true, true, true] }
-- input { 7i64 } output { [true, true, true, true, true, true, true] }
-- input { 61i64 } output { [true, true, true, true, true, true, true] }
-- input { 150i64 } output { [true, true, true, true, true, true, true] }

open import "jacobian_sparse"

def step (a: (f64, f64)) (b: (f64, f64)): (f64, f64) = (a.0 * b.0, a.1 * b.0 + b.1)

entry agree (n: i64): []bool =
  let x = tabulate n (\i -> 0.3 + f64.sin (f64.i64 (3 * i + 1)))
  let few = i64.min n 4
  in [ agrees (\y -> scan (+) 0 y) x
     , agrees (\y -> scan f64.max (-10) y) x
     , agrees (\y -> map (.1) (scan step (1, 0) (map2 (\a b -> (a, b)) y (reverse y)))) x
     , agrees (\y -> reduce_by_index (replicate 5 1) (*) 1 (map (% 7) (iota n)) y) x
     , agrees (\y -> scatter (replicate (2 * n) 0.5) (map (\i -> 2 * i) (iota n)) y) x
     , agrees (\y -> flatten (transpose [y, map f64.exp (rotate 1 y)])) x
     , agrees (\y -> rotate 2 y ++ map (\i -> f64.sum (take i y)) (iota few)) x ]
