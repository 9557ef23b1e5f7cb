-- A bit of everything: modules, irregular arrays, sums, loops, recursion, derivatives.
module type monoid = { type t val op : t -> t -> t val ne : t }
module mk_scan (M: monoid) = { def scan1 [n] (xs: [n]M.t): [n]M.t = scan M.op M.ne xs }
module add_i32 = { type t = i32 def op (a: t) (b: t) = a + b def ne = 0i32 }
module s = mk_scan add_i32
def fst (a, _) = a
def apply2 'a 'b (f: a -> b) (x: a) (y: a) = (f x, f y)
type~ vec = []f64
def mkvec (n: i64): vec = map f64.i64 (iota n)
entry irregular (n: i64) = let vs = map mkvec (1..2...n) in map (\(v: vec) -> f64.sum v) vs
entry main [n] (xs: [n]i32) = s.scan1 xs
entry a2 (x: i32) = apply2 (+ 1) x (x * 2)
def mean [n] (xs: [n]f64) = f64.sum xs / f64.i64 n
entry stats [n] (xs: [n]f64) = let m = mean xs in (m, mean (map (\x -> (x - m) ** 2) xs))
entry cat (a: []i32) (b: []i32) = let c = a ++ b in (c, length c, c[length a:])
entry mm [n][m][p] (a: [n][m]f64) (b: [m][p]f64): [n][p]f64 =
  map (\r -> map (\c -> f64.sum (map2 (*) r c)) (transpose b)) a
type option 'a = #some a | #none
def find [n] (p: i32 -> bool) (xs: [n]i32): option i32 =
  loop acc = #none for x in xs do match acc case #some y -> #some y case #none -> if p x then #some x else #none
entry fnd (xs: []i32) = match find (> 3) xs case #some x -> x case #none -> -1
entry fm (xs: []i64) = let (a, b, c, d) = flatmap' (\n -> iota n) xs in (a, b, c, d)
entry part (xs: []i32) = partition (> 2) xs

-- ==
-- entry: strs
-- input {} output { [104u8, 101u8, 108u8, 108u8, 111u8] }

entry strs = "hello"
entry upd [n] (xs: *[n][n]i32) = let xs[0, 1] = 5 let xs[1, :] = replicate n 7 in xs
entry sp [n] (xs: [n]i32) = let (a, b) = split (xs :> [2 + (n - 2)]i32) in (a, b)
entry whl (n: i32) = loop (a, b) = (0, 1) while b < n do (b, a + b)

-- ==
-- entry: tup
-- input {} output { [1i64, 3i64, 5i64] }

entry tup = map (\(x, y) -> x + y) (zip (iota 3) [1, 2, 3])

-- ==
-- entry: unf
-- input {} output { [[0i64, 1i64, 2i64], [3i64, 4i64, 5i64]] }

entry unf = unflatten (iota 6 :> [2 * 3]i64)

-- ==
-- entry: nest
-- input {} output { [[0i64, 0i64, 0i64], [0i64, 1i64, 2i64]] }

entry nest = map (\i -> map (\j -> i * j) (iota 3)) (iota 2)
def rec even (n: i32): bool = if n == 0 then true else odd (n - 1)
and odd (n: i32): bool = if n == 0 then false else even (n - 1)
entry ev (n: i32) = even n

-- ==
-- entry: lf
-- input {} output { 7i32 }

entry lf = let f = \x y -> x + y let g = f 3 in g 4

-- ==
-- entry: red2
-- input {} output { [5i32, 7i32, 9i32] }

entry red2 = reduce (map2 (+)) (replicate 3 0) [[1, 2, 3], [4, 5, 6]]

-- ==
-- entry: hs
-- input {} output { [1i32, 5i32, 0i32, 4i32] }

entry hs = hist (+) 0 4 [0, 1, 1, 3] [1, 2, 3, 4]

-- ==
-- entry: r1
-- input {} output { [0.0f64, 1.0f64, 3.0f64, 6.0f64] }

entry r1 = irregular 4

-- ==
-- entry: r2
-- input {} output { [1i32, 3i32, 6i32] }

entry r2 = main [1,2,3]

-- ==
-- entry: r3
-- input {} output { 4i32 7i32 }

entry r3 = a2 3

-- ==
-- entry: r4
-- input {} output { 2.3333333333333335f64 1.5555555555555554f64 }

entry r4 = stats [1,2,4]

-- ==
-- entry: r5
-- input {} output { [1i32, 2i32, 3i32] 3i64 [3i32] }

entry r5 = cat [1,2] [3]

-- ==
-- entry: r6
-- input {} output { [[1.0f64, 2.0f64], [3.0f64, 4.0f64]] }

entry r6 = mm [[1,2],[3,4]] [[1,0],[0,1]]

-- ==
-- entry: r7
-- input {} output { 5i32 }

entry r7 = fnd [1,5,3]

-- ==
-- entry: r8
-- input {} output { [2i64, 0i64, 3i64] [true, false, true, false, false] [0i64, 2i64, 2i64] [0i64, 1i64, 0i64, 1i64, 2i64] }

entry r8 = fm [2,0,3]

-- ==
-- entry: r9
-- input {} output { [3i32, 4i32] [1i32, 2i32] }

entry r9 = part [1,2,3,4]

-- ==
-- entry: r10
-- input {} output { [[1i32, 5i32], [7i32, 7i32]] }

entry r10 = upd [[1,2],[3,4]]

-- ==
-- entry: r11
-- input {} output { [1i32, 2i32] [3i32, 4i32, 5i32] }

entry r11 = sp [1,2,3,4,5]

-- ==
-- entry: r12
-- input {} output { 89i32 144i32 false 2i32 3i32 }

entry r12 = (whl 100, ev 7, whl 3)
def sq (x: f64): f64 = if x > 3 then x * x else x
def deep (n: i64): i64 = if n == 0 then 0 else 1 + deep (n - 1)

-- ==
-- entry: dp
-- input {} output { 1000000i64 }

entry dp = deep 1000000

-- ==
-- entry: g1
-- input {} output { [2.0f64, 4.0f64, 6.0f64] }

entry g1 = vjp (\x -> f64.sum (map (\y -> y * y) x)) [1f64, 2, 3] 1
