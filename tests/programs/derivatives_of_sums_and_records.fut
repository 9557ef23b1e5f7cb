-- Derivatives of sum types and records: as inputs, as results, and on the way.

type~ shape = #disk f64 | #box f64 f64 | #poly []f64 | #none

def area (s: shape): f64 =
  match s
  case #disk r -> f64.pi * r * r
  case #box a b -> a * b
  case #poly xs -> f64.sum (map2 (*) xs (rotate 1 xs))
  case #none -> 0

def shapes (x: f64) (y: f64): []shape = [#disk x, #box x y, #none, #disk (x * y), #poly [x, y, x * y]]

-- ==
-- entry: sum_arrays
-- input { 1.3 1.3 } output { 22.05599436248456 29.642299019207016 21.47415811987355 }
entry sum_arrays (x: f64) (y: f64) = vjp2 (\(x, y) -> f64.sum (map area (shapes x y))) (x, y) 1

-- ==
-- entry: sum_array_gradient
-- input { 1.3 1.3 } output { [838.409721435307, 6.760000000000001, 0.0, 1416.9124292256688, 97.95240000000001] }
entry sum_array_gradient (x: f64) (y: f64) =
  let g = vjp (\ss -> f64.sum (map area ss)) (shapes x y) 2
  in map area g

-- ==
-- entry: sum_output
-- input { 1.3 1.3 } output { 12.600000000000001 10.0 }
entry sum_output (x: f64) (y: f64) =
  let f (x: f64, y: f64): shape = if x > y then #disk (x * y) else #box (x * x) (x + y)
  in vjp f (x, y) (if x > y then #disk 3 else #box 1 10)

-- ==
-- entry: sum_forward
-- input { 1.3 1.3 } output { 38.6 }
entry sum_forward (x: f64) (y: f64) =
  let f (x: f64, y: f64): shape = if x > y then #disk (x * y) else #poly [x, x * x, y]
  in area (jvp f (x, y) (1, 10))

type opt 't = #some t | #nothing

def bind 'a 'b (o: opt a) (f: a -> opt b): opt b = match o case #some x -> f x case #nothing -> #nothing

def safe_div (x: f64) (y: f64): opt f64 = if y == 0 then #nothing else #some (x / y)

-- ==
-- entry: options
-- input { 1.3 1.3 } output { 1.0 1.0 }
entry options (x: f64) (y: f64) =
  vjp (\(x, y) -> match bind (safe_div x y) (\z -> bind (safe_div y z) (\w -> #some (w * z + x)))
                  case #some v -> v case #nothing -> 0) (x, y) 1

-- ==
-- entry: options_of_zero
-- input { 1.3 } output { 3.0 0.0 }
entry options_of_zero (x: f64) =
  vjp (\(x, y) -> match bind (safe_div x y) (\z -> #some (z * z)) case #some v -> v case #nothing -> x * 3) (x, 0) 1

type model = {w: [3]f64, b: f64, scale: {k: f64, n: i64}}

def predict (m: model) (x: [3]f64): f64 = m.scale.k * f64.tanh (f64.sum (map2 (*) m.w x) + m.b) ** f64.i64 m.scale.n

-- ==
-- entry: records
-- input { 1.3 } output { [0.13980992339274262, 0.07902717976055507, 0.051676547299189225] 0.3137159611419658 0.9659843513692418 }
entry records (x: f64) =
  let m: model = {w = [x, 2 * x, -x], b = 0.1, scale = {k = 2, n = 2}}
  let g = vjp (\m -> predict m [1, 0.5, 0.25] + predict (m with scale.k = m.b) [0.1, 0.2, 0.3]) m 1
  in (g.w, g.b, g.scale.k)

-- ==
-- entry: record_arrays
-- input { 1.3 } output { [2.3, 8.28, 14.259999999999998, 20.240000000000002] [2.3, 2.3, 2.3, 2.3] [2.6, 5.59, 11.96, 16.51] }
entry record_arrays (x: f64) =
  let ps = map (\i -> {pos = (x * f64.i64 i, x), m = {mass = 1 + x}}) (iota 4)
  let energy (ps: [4]{pos: (f64, f64), m: {mass: f64}}) =
    f64.sum (map (\p -> p.m.mass * (p.pos.0 * p.pos.0 + p.pos.1)) ps)
    + f64.sum (map2 (\p q -> p.m.mass * q.pos.0) ps (rotate 1 ps))
  let g = vjp energy ps 1
  in (map (\p -> p.pos.0) g, map (\p -> p.pos.1) g, map (\p -> p.m.mass) g)
