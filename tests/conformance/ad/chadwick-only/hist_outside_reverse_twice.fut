-- Writes of a histogram outside of it are ignored, in the second derivative too.
-- Expected values: f x = x² + x, so the gradient of the gradient's sum is 2.
-- ==
-- entry: twice
-- input { [3.0, 5.0] } output { [2.0, 2.0] }

def f (x: [2]f64): [2]f64 =
  map2 (\x y -> x * y + x) x (reduce_by_index (copy x) (+) 0 (replicate 4 3) (tabulate 4 (\i -> x[i % 2])))

entry twice (x: [2]f64): [2]f64 = vjp (\x -> vjp f x [1, 1]) x [1, 1]
