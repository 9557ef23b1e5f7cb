-- Sparse Jacobians agree with jacfwd at many sizes: of one set, of several, of several levels of blocks. Sums, recursion, loops, other number types.
-- ==
-- entry: agree
-- input { 1i64 } output { [true, true, true, true, true, true, true] }
-- input { 7i64 } output { [true, true, true, true, true, true, true] }
-- input { 61i64 } output { [true, true, true, true, true, true, true] }
-- input { 150i64 } output { [true, true, true, true, true, true, true] }

open import "jacobian_sparse"

type~ shape = #circle f64 | #box f64 f64

def rec halves [n] (x: [n]f64): f64 =
  if n == 0 then 0 else if n == 1 then x[0] * x[0] else f64.sin (halves x[:n / 2]) + halves x[n / 2:]

entry agree (n: i64): []bool =
  let x = tabulate n (\i -> 0.3 + f64.sin (f64.i64 (3 * i + 1)))
  in [ agrees (\y -> map (\a -> match (if a > 0.5 then #circle a else #box a (a * y[0])): shape
                                case #circle r -> r * r
                                case #box a b -> a * b) y) x
     , agrees (\y -> map (\a -> f64.f32 (f32.f64 a * f32.f64 y[n - 1])) y) x
     , agrees (\y -> map2 (\a b -> f64.f16 (f16.f64 a * f16.f64 b)) y (rotate 3 y)) x
     , agrees (\y -> map2 (\a b -> f64.i8 (i8.f64 (20 * a) * i8.f64 (20 * b))) y (rotate 1 y)) x
     , agrees (\y -> grad (\z -> f64.sum (map (\i -> f64.i32 (i32.f64 (9 * z[i])) * z[i * i % n]) (iota n))) y) x
     , agrees (\y -> [halves y, halves (take ((n + 1) / 2) y), halves []]) x
     , agrees (\y -> map (\a -> loop a while a < 2 do a + f64.abs a * 0.5 + y[0] * y[0] + 0.1) y) x ]
