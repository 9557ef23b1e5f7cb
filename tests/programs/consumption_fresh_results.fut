-- Functions without a written result type whose result is fresh: it may be consumed though the argument may not.

def bump [n] (xs: [n]i32) = map (+ 1) xs

-- ==
-- entry: top
-- input { [1i32,2] } output { [9i32,3] [1i32,2] }

entry top [n] (xs: [n]i32) = let ys = bump xs in (ys with [0] = 9, xs)

-- ==
-- entry: local_function
-- input { [1i32,2] } output { [9i32,3] [1i32,2] }

entry local_function [n] (xs: [n]i32) =
  let f (ys: [n]i32) = map (+ 1) ys
  let zs = f xs
  in (zs with [0] = 9, xs)

-- ==
-- entry: bound_lambda
-- input { [1i32,2] } output { [9i32,3] [1i32,2] }

entry bound_lambda [n] (xs: [n]i32) =
  let f = \(ys: [n]i32) -> map (+ 1) ys
  let zs = f xs
  in (zs with [0] = 9, xs)
