-- Twice reverse through rows of arrays that may be empty: what has no elements need not know how long its rows would be.
-- ==
-- entry: main
-- input { 2.0 [[1.0, 5.0], [3.0, 2.0], [7.0, 4.0]] [1.0, 2.0, 3.0] }
-- output { 0.0 [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]] }

def fold (xs: [](f64, f64)): (f64, f64) = reduce (\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) xs

def f [n] (p: f64, rows: [n][2]f64): [n]f64 =
  map (\i -> let row = tabulate (i % 3) (\_ -> let (a, b) = fold [(1, 1), (1, p)] in a + 3 * b)
             in f64.maximum rows[length row % n]) (iota n)

entry main [n] (p: f64) (rows: [n][2]f64) (w: [n]f64) = vjp (\x -> vjp f x w) (p, rows) (p, rows)
