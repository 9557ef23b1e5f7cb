-- A gradient that two derivatives call: differentiated again, the sum over its cotangents keeps a copy of them.
-- Expected values: f p = k (1, 0, 1, 1) with k = p cos (p (3 + p)), so the second derivative of w . f is (1 + 0.2 + 0.1) k''.
-- ==
-- entry: once
-- input { 1.0 [1.0, 0.5, 0.2, 0.1] } output { 4.069479512f64 }

-- ==
-- entry: twice
-- input { 1.0 [1.0, 0.5, 0.2, 0.1] } output { 33.049536604871065f64 }

def f (p: f64): [4]f64 =
  grad (\(x: [4]f64) -> f64.sin (f64.sum (map2 (*) (copy x with [1 % 4] = p) (replicate 4 p)))) (replicate 4 1)

entry once (a: f64) (w: [4]f64) = vjp f a w
entry twice (a: f64) (w: [4]f64) = vjp (\x -> vjp f x w) a 1
