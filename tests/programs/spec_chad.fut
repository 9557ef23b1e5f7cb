-- Worked examples of combinatory homomorphic automatic differentiation, each with its known derivative.

-- let b = (a, 2a) in fst b + snd b
-- ==
-- entry: pair
-- input { 0.7 } output { 3.0 }

entry pair (a: f64) = vjp (\a -> let b = (a, 2 * a) in b.0 + b.1) a 1

-- y = 2x, z = x y, w = cos z: tangents (2, 4x, -4x sin 2x^2)
-- ==
-- entry: tangents
-- input { 0.5 } output { 2.0 2.0 -0.958851077208406 }

entry tangents (x: f64) = jvp (\x -> let y = 2 * x let z = x * y in (y, z, f64.cos z)) x 1

-- sin ((x1 x4 + 2 x2) x3 + x4)
-- ==
-- entry: four_inputs
-- input { [0.5, -0.3, 1.2, 0.8] }
-- output { 0.5311861979208834 [0.8133649065728795, 2.0334122664321987, -0.16945102220268318, 1.3556081776214657] }

entry four_inputs (x: [4]f64) = value_and_grad (\(x: [4]f64) -> f64.sin ((x[0] * x[3] + 2 * x[1]) * x[2] + x[3])) x

-- map (\z -> x z + 1) (replicate n x): 2x in each place; sum (map (\u -> x1 u) x2)
-- ==
-- entry: map_capture
-- input { 1.5 3i64 } output { [3.0, 3.0, 3.0] }

entry map_capture (x: f64) (n: i64) = jvp (\x -> map (\z -> x * z + 1) (replicate n x)) x 1

-- ==
-- entry: sum_map
-- input { 2.0 [1.0, 3.0, -0.5] } output { 3.5 [2.0, 2.0, 2.0] }

entry sum_map [n] (a: f64) (xs: [n]f64) = vjp (\(a, xs) -> f64.sum (map (\u -> a * u) xs)) (a, xs) 1

-- let h = \v -> a v in h a + h (3a): 4a^2
-- ==
-- entry: closure_twice
-- input { 2.0 } output { 16.0 16.0 }

entry closure_twice (a: f64) = vjp2 (\a -> let h = \v -> a * v in h a + h (3 * a)) a 1

-- The first half of a pair many times, the other half huge: the work does not depend on the other half.
-- ==
-- entry: unused_half
-- input { 2.0 1000i64 } output { 80.0 0.0 }

entry unused_half (x: f64) (n: i64) =
  let (dx, dys) = vjp (\(p: (f64, [n]f64)) -> p.0 * p.0 * p.0 * p.0 * p.0) (x, replicate n 1) 1
  in (dx, f64.sum dys)

-- Nested identities: the derivative is 1 and the work linear in the depth.
-- ==
-- entry: nested_identities
-- input { 0.25 200i64 } output { 1.0 }

def nested (n: i64): f64 -> f64 = if n == 0 then \x -> x else let g = nested (n - 1) in \x -> (\f -> f x) g
entry nested_identities (x: f64) (n: i64) = vjp (nested n) x 1

-- Products by a fold, and a fold that captures.
-- ==
-- entry: product
-- input { [1.0, 2.0, 3.0, 4.0] } output { [24.0, 12.0, 8.0, 6.0] }

entry product [n] (xs: [n]f64) = vjp (reduce (*) 1) xs 1

-- ==
-- entry: capturing_fold
-- input { 3.0 1.0 [2.0, 3.0, 4.0] } output { 648.0 648.0 [324.0, 216.0, 162.0] }

entry capturing_fold [n] (c: f64) (acc: f64) (v: [n]f64) =
  vjp (\(c, acc, v) -> foldl (\a b -> a * b * c) acc v) (c, acc, v) 1

-- s -> s^2 three times at 1.1
-- ==
-- entry: three_times
-- input { 1.1 } output { 15.589736800000006 }

entry three_times (s: f64) = vjp (iterate 3 (\s -> s * s)) s 1

-- Constants, polar coordinates, x^2 + sin xy + 1, sqrt (x + y z), p (q (r x))
-- ==
-- entry: constant
-- input { 3.0 } output { 11.0 0.0 }

entry constant (x: f64) = vjp2 (\(_: f64) -> 5 + 6 : f64) x 1

-- ==
-- entry: polar
-- input { 2.0 0.5 } output { [[0.8775825618903728, -0.958851077208406], [0.479425538604203, 1.7551651237807455]] }

entry polar (r: f64) (t: f64) = jacrev (\(v: [2]f64) -> [v[0] * f64.cos v[1], v[0] * f64.sin v[1]]) [r, t]

-- ==
-- entry: square_root
-- input { 0.4 1.3 0.7 } output { 0.43685202833051895 0.30579641983136324 0.5679076368296746 }

entry square_root (x: f64) (y: f64) (z: f64) = vjp (\(x, y, z) -> f64.sqrt (x + y * z)) (x, y, z) 1

-- ==
-- entry: composition
-- input { 0.3 } output { 0.7789022449935735 }

entry composition (x: f64) = vjp (\x -> f64.sin (f64.tanh (2 * x) * 0.6 + 0.1)) x 1
