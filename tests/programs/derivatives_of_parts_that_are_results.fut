-- A function that calls itself gives a part of its argument: its cotangent is that of the result, and what else is added to the argument.
-- ==
-- input { [2.0, 3.0, 4.0, 5.0] } output { [625.0, 300.0, 400.0, 500.0] }

def rec parts (k: i64) (v: [4]f64): ([]f64, f64) =
  if k <= 0 then (v[1:3], v[0])
  else let (p, s) = parts (k - 1) v in (p, s * v[3])

entry main (v: [4]f64) =
  grad (\v -> let (p, s) = parts 2 v in f64.sum (map (\x -> x * x) p) * s) v
