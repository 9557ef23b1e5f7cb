-- A value that the function reads is the direction of its derivative, too, for several directions that share the primal part.

def chained [n] (xs: [n]f64): f64 = reduce (\p q -> p * q + p) 1 (map f64.sin xs)

-- ==
-- entry: captured
-- input { 0.7 0.4 } output { [1.8604816734759757, 1.8604816734759757, 1.8604816734759757] }
entry captured (x: f64) (y: f64): [3]f64 = map (\_ -> jvp (\a -> chained [x, a, a * y]) y x) (iota 3)

-- ==
-- entry: slopes
-- input { 0.7 0.4 } output { 10.569818574078106 6.700382155133928 }
entry slopes (x: f64) (y: f64): (f64, f64) = vjp (\(x, y) -> f64.sum (captured x y)) (x, y) 1

-- ==
-- entry: point
-- input { [0.3, -0.6] } output { true }
entry point (x: [2]f64): bool =
  let all = map (\k -> jvp (\y -> chained [x[0], y[1], y[0] * x[1]]) x (map (* k) x)) [1, 2, 3]
  let one = jvp (\y -> chained [x[0], y[1], y[0] * x[1]]) x x
  in and (map2 (\k d -> f64.abs (d - k * one) < 1e-12) [1, 2, 3] all)
