-- A product and its gradient, for every pair.
-- ==
-- entry: primal
-- input { [2.0, 3.0] [5.0, 7.0] } output { [10.0, 21.0] }

-- ==
-- entry: gradient
-- input { [2.0, 3.0] [5.0, 7.0] } output { [5.0, 7.0] [2.0, 3.0] }

entry primal [n] (x: [n]f64) (y: [n]f64): [n]f64 = map2 (*) x y

entry gradient [n] (x: [n]f64) (y: [n]f64): ([n]f64, [n]f64) = unzip (map2 (\x y -> grad (\(x, y) -> x * y) (x, y)) x y)
