-- A dot product, and its gradient times a seed.
-- ==
-- entry: primal
-- input { [1.0, 2.0] [3.0, 4.0] 2.0 } output { 11.0 }

-- ==
-- entry: gradient
-- input { [1.0, 2.0] [3.0, 4.0] 2.0 } output { [6.0, 8.0] [2.0, 4.0] }

def dot [n] (a: [n]f64) (b: [n]f64): f64 = f64.sum (map2 (*) a b)

entry primal [n] (a: [n]f64) (b: [n]f64) (_seed: f64): f64 = dot a b

entry gradient [n] (a: [n]f64) (b: [n]f64) (seed: f64): ([n]f64, [n]f64) = vjp (uncurry dot) (a, b) seed
