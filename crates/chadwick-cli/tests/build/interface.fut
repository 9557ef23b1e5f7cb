-- What the interface of a library must carry: every type, names that are words of C, sizes, failures, traces.

type point = {x: f64, y: f64}

entry everything [n] (register: [n]i32) (int: f64) (NULL: bool) (p: point) (ps: [n]point) ((a, b): (i8, u16)) (x': f32)
  : ([n]f64, {sum: f64, flag: bool}, (i8, u16, f32)) =
  (map2 (\i q -> f64.i32 i + q.x * q.y) register ps, {sum = int + p.x + p.y, flag = !NULL}, (a, b, x'))

entry halves [n] (xs: [n]f16) (y: f16) : ([n]f16, f16) = (map (* y) xs, y + 1)

entry swap [n][m] (xs: [n]f64) (ys: [m]f64) : ([m]f64, [n]f64) = (ys, xs)

entry double [n] (xs: [n]f64) : [n]f64 = map (* 2) xs

entry empty_rows (n: i64) : [n][0]i64 = replicate n []

entry nothing (_: i64) : () = ()

entry constants : ([3]u8, f64) = ([1, 2, 255], f64.pi)

entry loss [n][d] (w: [d]f64) (xs: [n][d]f64) (offset: f64) : f64 =
  f64.sum (map (\x -> (f64.sum (map2 (*) w x) + offset) ** 2) xs)

entry loss32 [d] (w: [d]f32) : f32 = f32.sum (map (\x -> f32.exp x * x) w)

entry special (x: f64) : [13]f64 =
  [f64.sinpi x, f64.cospi x, f64.tanpi x, f64.asinpi (x / 8), f64.acospi (x / 8), f64.atanpi x, f64.gamma x, f64.lgamma x, f64.erf x,
   f64.erfc x, f64.asinh x, f64.acosh (1 + x * x), f64.atanh (x / 8)]

entry special_slope (x: f64) : (f64, f64) = (grad f64.lgamma x, grad (grad f64.lgamma) x)

-- Failures

entry index (xs: []f64) (i: i64) : f64 = xs[i]
entry slice (xs: []f64) (i: i64) (j: i64) : f64 = f64.sum xs[i:j]
entry add_sizes [n] (xs: [n]f64) (ys: [n + 1]f64) : f64 = f64.sum xs + f64.sum ys
entry divide (x: i64) (y: i64) : i64 = x / y
entry power (x: i64) (y: i64) : i64 = x ** y
entry reshape [n] (xs: [n]f64) (a: i64) (b: i64) : f64 = f64.sum (map f64.sum (unflatten (xs :> [a * b]f64)))
entry positive (x: f64) : f64 = assert (x > 0) (f64.log x)

def at (xs: []f64) (i: i64) : f64 = xs[i * 2]
def nested (xs: []f64) (i: i64) : f64 = 1 + at xs i
entry call_chain (xs: []f64) (i: i64) : f64 = nested xs i * 2

def rec down (n: i64) : i64 = if n == 0 then 1 / n else 1 + down (n - 1)
entry recursion (n: i64) : i64 = down n
def rec count (n: i64) : i64 = if n <= 0 then 0 else 1 + count (n - 1)
entry deep (n: i64) : i64 = count n

entry allocate (n: i64) : [n]i64 = scan (+) 0 (iota n)
entry forever (x: i64) : i64 = loop y = x while y != -1 do if y > 1000 then 0 else y + 1

-- Traces

entry speak (x: f64) (y: f32) (i: i64) (xs: []f64) : f64 =
  let x = trace x
  let y = trace y
  let i = trace i
  let xs = trace xs
  let b = trace (x > 0)
  in if b then f64.f32 y + f64.sum xs + f64.i64 i else x

-- Not for C

entry maybe (x: i32) : #none | #some i32 = if x == 0 then #none else #some x
