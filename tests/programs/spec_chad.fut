-- Worked examples of combinatory homomorphic differentiation and of linear maps with their expected results. What they cost is tested in
-- crates/chadwick/tests/worked_examples.rs.

-- E1. A pair of a number and its double.
-- ==
-- entry: pair_gradient
-- input { 1.5 } output { 4.5 3.0 }
def pair (a: f64) = let b = (a, 2 * a) in b.0 + b.1
entry pair_gradient (a: f64) = vjp2 pair a 1

-- E2. Forward mode with three results, and its transpose.
-- ==
-- entry: three_results_tangent
-- input { 0.5 1.0 } output { 1.0 0.5 0.8775825618903728 2.0 2.0 -0.958851077208406 }
-- input { 0.5 3.0 } output { 1.0 0.5 0.8775825618903728 6.0 6.0 -2.876553231625218 }
def three_results (x: f64) =
  let y = 2 * x
  let z = x * y
  let w = f64.cos z
  in (y, z, w)
entry three_results_tangent (x: f64) (x': f64) =
  let ((y, z, w), (y', z', w')) = jvp2 three_results x x' in (y, z, w, y', z', w')

-- ==
-- entry: three_results_cotangent
-- input { 0.5 [1.0, 10.0, 100.0] } output { -73.88510772084061 }
entry three_results_cotangent (x: f64) (w: [3]f64) = vjp three_results x (w[0], w[1], w[2])

-- E2b. A function of four variables.
-- ==
-- entry: four_variables_gradient
-- input { 0.5 -0.3 1.2 0.8 }
-- output { 0.5311861979208834 0.8133649065728795 2.0334122664321987 -0.16945102220268318 1.355608177621466 }
def four_variables (x1: f64, x2: f64, x3: f64, x4: f64) = f64.sin ((x1 * x4 + 2 * x2) * x3 + x4)
entry four_variables_gradient (x1: f64) (x2: f64) (x3: f64) (x4: f64) =
  let (y, (d1, d2, d3, d4)) = vjp2 four_variables (x1, x2, x3, x4) 1 in (y, d1, d2, d3, d4)

-- E2c. A map whose function captures what the array is made of.
-- ==
-- entry: captured_in_map
-- input { 3i64 1.5 1.0 } output { [3.25, 3.25, 3.25] [3.0, 3.0, 3.0] }
entry captured_in_map (n: i64) (x: f64) (x': f64) = jvp2 (\x -> map (\z -> x * z + 1) (replicate n x)) x x'

-- E2d. A sum of a map whose function captures a number.
-- ==
-- entry: scaled_sum_cotangent
-- input { 1.5 [2.0, 3.0, 4.0] 2.0 } output { 18.0 [3.0, 3.0, 3.0] }
entry scaled_sum_cotangent [n] (x1: f64) (x2: [n]f64) (w': f64) = vjp (\(x1, x2) -> f64.sum (map (\u -> x1 * u) x2)) (x1, x2) w'

-- E3. A local function called twice; its capture is an input.
-- ==
-- entry: function_called_twice
-- input { 2.0 } output { 16.0 16.0 }
def called_twice (a: f64) = let h = \v -> a * v in h a + h (3 * a)
entry function_called_twice (a: f64) = vjp2 called_twice a 1

-- E4. A closed function and one that captures an intermediate result.
-- ==
-- entry: closed_and_capturing
-- input { 1.5 } output { 9.625 11.75 }
def two_functions (x: f64) =
  let z = x * x
  let g = \u -> u * u
  let h = \v -> z * v
  in g (x + 1) + h x
entry closed_and_capturing (x: f64) = vjp2 two_functions x 1

-- E5. One component of a large pair, many times over.
-- ==
-- entry: first_many_times
-- input { 1.5 [9.0, 9.0] } output { 13.5 [0.0, 0.0] }
entry first_many_times [n] (a: f64) (rest: [n]f64) = vjp (\(x: (f64, [n]f64)) -> x.0 * x.0 * x.0 * x.0) (a, rest) 1

-- E12. Nested identities.
-- ==
-- entry: nested_identities
-- input { 2.5 } output { 2.5 1.0 }
entry nested_identities (x: f64) = vjp2 (\x5 -> (\x4 -> (\x3 -> (\x2 -> (\x1 -> x1) x2) x3) x4) x5) x 1

-- As many as we like, made by recursion.
-- ==
-- entry: identities_by_recursion
-- input { 0.25 200i64 } output { 1.0 }
def nested (n: i64): f64 -> f64 = if n == 0 then \x -> x else let g = nested (n - 1) in \x -> (\f -> f x) g
entry identities_by_recursion (x: f64) (n: i64) = vjp (nested n) x 1

-- E13. A product as a fold, and a fold whose function captures a number.
-- ==
-- entry: product_gradient
-- input { [1.0, 2.0, 3.0, 4.0] } output { [24.0, 12.0, 8.0, 6.0] }
-- input { [1.0, 0.0, 3.0] } output { [0.0, 3.0, 0.0] }
entry product_gradient (xs: []f64) = vjp (foldl (*) 1) xs 1

-- ==
-- entry: captured_in_fold
-- input { 3.0 1.0 [2.0, 3.0, 4.0] } output { 648.0 648.0 648.0 [324.0, 216.0, 162.0] }
entry captured_in_fold [n] (c: f64) (start: f64) (v: [n]f64) =
  let (y, (dc, dstart, dv)) = vjp2 (\(c, start, v) -> foldl (\a b -> a * b * c) start v) (c, start, v) 1
  in (y, dc, dstart, dv)

-- E14. A function applied n times; a loop whose steps do not commute.
-- ==
-- entry: squared_three_times
-- input { 3i64 1.1 } output { 2.1435888100000016 15.58973680000001 }
entry squared_three_times (n: i64) (s: f64) = vjp2 (\s -> loop s for _i < n do s * s) s 1

-- The counter goes down; first b grows by 3 a, then it is doubled.
-- ==
-- entry: steps_that_do_not_commute
-- input { 0.25 0.75 } output { 7.0 2.0 }
def steps (a: f64, b: f64) =
  let (a, b) = loop (a, b) = (a, b) for i < 2i32 do if 1 - i == 1 then (a, b + 3 * a) else (a, 2 * b)
  in a + b
entry steps_that_do_not_commute (a: f64) (b: f64) = vjp steps (a, b) 1

-- E15. The examples of the compiler with linear maps.
-- ==
-- entry: constant_sum
-- input { 0.5 } output { 11.0 0.0 }
entry constant_sum (x: f64) = vjp2 (\(_: f64) -> 5.0 + 6.0) x 1

-- ==
-- entry: polar
-- input { 2.0 0.7 } output { [[0.7648421872844885, -1.288435374475382], [0.644217687237691, 1.529684374568977]] }
entry polar (r: f64) (theta: f64) =
  jacrev (\(v: [2]f64): [2]f64 -> [v[0] * f64.cos v[1], v[0] * f64.sin v[1]]) [r, theta]

-- ==
-- entry: sine_of_product
-- input { 1.3 0.4 } output { 2.94712767187106 1.128164933580945 }
entry sine_of_product (x: f64) (y: f64) = vjp (\(x, y) -> x ** 2 + f64.sin (x * y) + 1) (x, y) 1

-- ==
-- entry: root
-- input { 0.4 1.3 0.7 } output { 0.43685202833051895 0.30579641983136324 0.5679076368296747 }
entry root (x: f64) (y: f64) (z: f64) = vjp (\(x, y, z) -> f64.sqrt (x + y * z)) (x, y, z) 1

-- ==
-- entry: composition
-- input { 0.6 } output { 0.23569846444168396 }
entry composition (x: f64) =
  let p = f64.sin
  let q = f64.exp
  let r = \x -> x * x
  in vjp (\x -> p (q (r x))) x 1
