-- Derivatives of functions that are chosen, returned, kept in data, or made outside.

def compose 'a 'b 'c (f: a -> b) (g: b -> c): a -> c = \x -> g (f x)

def rec power (n: i64) (f: f64 -> f64): f64 -> f64 = if n == 0 then (\x -> x) else compose f (power (n - 1) f)

-- ==
-- entry: powers
-- input { 1.3 } output { 0.9413853904509843 0.5259956353608537 }
entry powers (x: f64) = vjp2 (\x -> power 5 (\y -> f64.sin (x * y)) x) x 1

-- ==
-- entry: powers_forward
-- input { 1.3 } output { 0.9413853904509843 0.5259956353608536 }
entry powers_forward (x: f64) = jvp2 (\x -> power 5 (\y -> f64.sin (x * y)) x) x 1

-- ==
-- entry: church
-- input { 1.3 } output { 8.788000000000002 }
entry church (x: f64) =
  let zero = \(_: f64 -> f64) (y: f64) -> y
  let succ (n: (f64 -> f64) -> f64 -> f64) = \(f: f64 -> f64) (y: f64) -> f (n f y)
  in vjp (\x -> succ (succ (succ zero)) (\y -> y * x) x) x 1

-- ==
-- entry: chosen
-- input { 1.3 3i64 } output { 1.1842738164258781 }
entry chosen (x: f64) (k: i64) =
  vjp (\x -> let f = match k case 0 -> (\y -> y * x) case 1 -> (\y -> f64.exp (y - x)) case _ -> (\y -> f64.sqrt (y * y + x)) in f (f (f x))) x 1

type~ boxed = #f (f64 -> f64)

-- ==
-- entry: array_of_functions
-- input { 1.3 } output { 0.05278387165337106 }
entry array_of_functions (x: f64) =
  vjp (\x -> let fs: []boxed = map (\i -> #f (if i % 2 == 0 then (\y -> y * x + f64.i64 i) else (\y -> y * y))) (iota 5)
             in loop y = x for f in fs do (match f case #f g -> 0.3 * g y)) x 1

-- ==
-- entry: function_in_loop
-- input { 1.3 } output { 7.070000000000001 }
entry function_in_loop (x: f64) =
  vjp (\x -> let f = loop f: f64 -> f64 = \y -> y for i < 4i64 do if i % 2 == 0 then (\y -> f (y * x)) else (\y -> f y + x) in f x) x 1

-- ==
-- entry: function_records
-- input { 1.3 } output { -2.6 }
entry function_records (x: f64) =
  vjp (\x -> let r = {f = \(y: f64) -> y * x, g = {h = \(y: f64) (z: f64) -> y - z * x}} in r.f (r.g.h x 2)) x 1

-- ==
-- entry: continuation
-- input { 1.3 } output { 490.4613024170601 }
entry continuation (x: f64) =
  let rec sumk (n: i64) (acc: f64) (k: f64 -> f64): f64 = if n == 0 then k acc else sumk (n - 1) (acc * 0.9) (\r -> k (r + f64.i64 n * acc))
  in vjp (\x -> sumk 5 x (\r -> r * r)) x 1

-- ==
-- entry: derivative_of_argument
-- input { 1.3 } output { -5.92648521655974 }
entry derivative_of_argument (x: f64) =
  let slope (f: f64 -> f64) (y: f64) = vjp f y 1
  in vjp (\x -> slope (\y -> f64.sin (x * y)) (x * x)) x 1

-- ==
-- entry: functions_of_vectors
-- input { [0.7, -1.2, 1.9] } output { [1.4699999999999998, 4.32, 10.83] }
entry functions_of_vectors (xs: [3]f64) =
  vjp (\xs -> let f = if xs[0] > 0 then (\(ys: [3]f64) -> map2 (*) ys xs) else (\ys -> ys) in f64.sum (f (f xs))) xs 1

-- ==
-- entry: partial
-- input { 1.3 } output { 8.6 }
entry partial (x: f64) = let add3 (a: f64) (b: f64) (c: f64) = a * b + c in vjp (\x -> let g = add3 x in let h = g 2 in h x + h 3 + g x x) x 1

-- ==
-- entry: unused_function
-- input { 1.3 } output { 2.6 }
entry unused_function (x: f64) = vjp (\x -> let f = if x > 100 then (\y -> y * x) else (\y -> y + x) in let _ = f in x * x) x 1

-- ==
-- entry: function_outside
-- input { 1.3 3i64 } output { 22.277580000000007 22.277580000000007 }
entry function_outside (x: f64) (k: i64) =
  let f = if k > 0 then (\y -> y * y) else (\y -> 3 * y)
  in (vjp (\x -> f (x * f x)) x 1, jvp (\x -> f (x * f x)) x 1)
