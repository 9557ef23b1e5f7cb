-- Functions, modules, sizes, records and derived operators, each with its value.

-- ==
-- entry: e1
-- input {} output { 3i64 }

entry e1 = let f (x: []i32) = length x in f [1] + f [1, 2]

-- ==
-- entry: e2
-- input {} output { [2i64, 2i64] }

entry e2 = map (\(a: []i32) -> length a) [[1, 2], [3, 4]]
def nested [n][m] (xs: [n]([m]i32, i32)) = map (\(a, b) -> i32.sum a + b) xs

-- ==
-- entry: e3
-- input {} output { [6i32, 15i32] }

entry e3 = nested [([1, 2], 3), ([4, 5], 6)]
def two_funs (k: i32) = (\x -> x + k, \x -> x * k)

-- ==
-- entry: e4
-- input {} output { 9i32 }

entry e4 = let (f, g) = two_funs 3 in f (g 2)
module outer = { module inner = { def x = 42i32 type t = (i32, i32) } def y: inner.t = (inner.x, 1) }

-- ==
-- entry: e5
-- input {} output { 42i32 1i32 }

entry e5 = outer.y

-- ==
-- entry: e6
-- input {} output { 42i32 }

entry e6 = outer.inner.x
module f2 = \(A: {val x : i32}) -> \(B: {val y : i32}) -> { def z = A.x + B.y }
module fa = f2 { def x = 1i32 }
module fab = fa { def y = 2i32 }

-- ==
-- entry: e7
-- input {} output { 3i32 }

entry e7 = fab.z
type mat [n][m] = [n][m]f64
type dim [n] = {size: [n](), w: mat [n][n]}
def mkdim (n: i64): dim [n] = {size = replicate n (), w = replicate n (replicate n 1)}

-- ==
-- entry: e8
-- input {} output { 3i64 9.0f64 }

entry e8 = let d = mkdim 3 in (length d.size, f64.sum (flatten d.w))
def outerp [n][m] (xs: [n]i32) (ys: [m]i32): [n][m]i32 = map (\x -> map (\y -> x * y) ys) xs

-- ==
-- entry: e9
-- input {} output { [[3i32, 4i32, 5i32], [6i32, 8i32, 10i32]] }

entry e9 = outerp [1, 2] [3, 4, 5]
def count [n] 't (p: t -> bool) (xs: [n]t): i64 = i64.sum (map (\x -> if p x then 1 else 0) xs)

-- ==
-- entry: e10
-- input {} output { 2i64 }

entry e10 = count (> 2) [1, 2, 3, 4]
def sort [n] (xs: [n]i32): [n]i32 =
  loop xs = copy xs for i < n do
    loop xs for j < n - 1 do
      if xs[j] > xs[j + 1] then let t = xs[j] let xs[j] = xs[j + 1] let xs[j + 1] = t in xs else xs

-- ==
-- entry: e11
-- input {} output { [1i32, 2i32, 3i32] }

entry e11 = sort [3, 1, 2]
def rec qs [n] (xs: [n]i32): [n]i32 =
  if n < 2 then xs else
  let p = xs[0]
  let (l, r) = partition (< p) xs[1:]
  in (qs l ++ [p] ++ qs r) :> [n]i32

-- ==
-- entry: e12
-- input {} output { [1i32, 2i32, 3i32, 4i32, 5i32] }

entry e12 = qs [3, 1, 2, 5, 4]

-- ==
-- entry: e13
-- input {} output { [0i64, 2i64, 6i64] }

entry e13 = let n = 3i64 let xs = iota n let ys: [n]i64 = map (+ 1) xs in map2 (*) xs ys

-- ==
-- entry: e14
-- input {} output { 3i32 }

entry e14 = let go s = s.0 + s.1 in go (1i32, 2i32)

-- ==
-- entry: e15
-- input {} output { [[2i32, 3i32], [4i32, 5i32]] }

entry e15 = map (map (+ 1)) [[1, 2], [3, 4]]

-- ==
-- entry: e16
-- input {} output { [4i32, 6i32] }

entry e16 = reduce (\a b -> map2 (+) a b) [0, 0] [[1, 2], [3, 4]]

-- ==
-- entry: e17
-- input {} output { [4i32, 5i32] 3i32 }

entry e17 = let (a, b) = (loop (a, b) = ([1, 2], 0i32) for i < 3i32 do (map (+ i) a, b + i)) in (a, b)
def opt_add (a: #some i32 | #none) (b: i32): i32 = match a case #some x -> x + b case #none -> b

-- ==
-- entry: e18
-- input {} output { 7i32 4i32 }

entry e18 = (opt_add (#some 3) 4, opt_add #none 4)

-- ==
-- entry: e19
-- input {} output { 1i32 1i32 true true }

entry e19 = let f 'a (x: a): (a, a) = (x, x) in (f 1i32, f true)

-- ==
-- entry: e20
-- input {} output { [[[0i64, 1i64], [2i64, 3i64]], [[4i64, 5i64], [6i64, 7i64]]] }

entry e20 = tabulate_3d 2 2 2 (\i j k -> i * 4 + j * 2 + k)

-- ==
-- entry: e21
-- input {} output { 1024i32 3i32 -4i32 2i32 -3i32 16i32 1i32 7i32 6i32 -6i32 }

entry e21 = (2 ** 10, 7 / 2, -7 / 2, -7 % 3, 7 // -2, 1 << 4, 5 & 3, 5 | 3, 5 ^ 3, !5)

-- ==
-- entry: e22
-- input {} output { 2.0000000000000004f64 }

entry e22 = f64.(sqrt 2 * sqrt 2 + sin 0)
def (+^) (a: (i32, i32)) (b: (i32, i32)) = (a.0 + b.0, a.1 + b.1)

-- ==
-- entry: e23
-- input {} output { 4i32 6i32 }

entry e23 = (1, 2) +^ (3, 4)

-- ==
-- entry: e24
-- input {} output { 4i32 }

entry e24 = 3 `i32.max` 4

-- ==
-- entry: e25
-- input {} output { [3i32, 5i32] }

entry e25 = map (`i32.max` 3) [1, 5]

-- ==
-- entry: e26
-- input {} output { [9i32, 3i32] }

entry e26 = let xs = [1, 2, 3, 4] in xs[1:3] with [0] = 9

-- ==
-- entry: e27
-- input {} output { 1i32 }

entry e27 = (.0) (1, 2)

-- ==
-- entry: e28
-- input {} output { [2i32, 4i32] }

entry e28 = map (.[1]) [[1, 2], [3, 4]]

-- ==
-- entry: e29
-- input {} output { [0i32, 1i32, 3i32] }

entry e29 = exscan (+) 0 [1, 2, 3]

-- ==
-- entry: e30
-- input {} output { 1i32 2i32 [2i32] [1i32] [1i32] [2i32] }

entry e30 = (head [1, 2], last [1, 2], tail [1, 2], init [1, 2], take 1 [1, 2], drop 1 [1, 2])

-- ==
-- entry: e31
-- input {} output { [1i32, 2i32] }

entry e31 = concat [1] [2]

-- ==
-- entry: e32
-- input {} output { [[[0i64, 1i64], [2i64, 3i64]], [[4i64, 5i64], [6i64, 7i64]]] }

entry e32 = unflatten_3d (iota 8 :> [2 * 2 * 2]i64)

-- ==
-- entry: e33
-- input {} output { 8.0f64 12.0f64 }

entry e33 = jvp2 (\(x: f64) -> x * x * x) 2 1

-- ==
-- entry: e34
-- input {} output { 6.0f32 }

entry e34 = let f x = x * x in vjp f 3f32 1

-- ==
-- entry: e35
-- input {} output { [2.0f64, 4.0f64, 6.0f64] }

entry e35 = grad (\x -> f64.sum (map (** 2) x)) [1, 2, 3]

-- ==
-- entry: e36
-- input {} output { [[3.0f64, 2.0f64], [1.0f64, 1.0f64], [0.0f64, 1.0f64]] }

entry e36 = jacfwd (\(x: [2]f64) -> [x[0] * x[1], x[0] + x[1], x[1]]) [2, 3]

-- ==
-- entry: e37
-- input {} output { [[6.0f64, 4.0f64], [4.0f64, 0.0f64]] }

entry e37 = hessian (\(x: [2]f64) -> x[0] * x[0] * x[1]) [2, 3]

-- ==
-- entry: e38
-- input {} output { 3.5f16 }

entry e38 = f16.f64 1.5 + 2

-- ==
-- entry: e39
-- input {} output { 2147483647i32 255u8 -9223372036854775808i64 f64.inf }

entry e39 = (i32.highest, u8.highest, i64.lowest, f64.highest)

-- ==
-- entry: e40
-- input {} output { [0i32, 5i32, 6i32, 0i32] }

entry e40 = spread 4 0 [1, 2] [5, 6]

-- ==
-- entry: e41
-- input {} output { 43i32 }

entry e41 = i32.set_bit 3 0 1 + i32.get_bit 1 2 + i32.popc 7 + i32.clz 1

-- ==
-- entry: e42
-- input {} output { 2i32 }

entry e42 = (loop x = 10 while x > 3 do x - 2) : i32

-- ==
-- entry: e43
-- input {} output { [true, true, true] }

entry e43 = let x: i64 = 3 in replicate x true
entry e44 [n] (xs: [n]i32) = let ys = xs :> [n]i32 in ys

-- ==
-- entry: e45
-- input {} output { 2i32 }

entry e45 = (\(x: i32) (y: i32): i32 -> x - y) 5 3

-- ==
-- entry: e46
-- input {} output { [1i32] [4i32, 5i32] [2i32, 3i32] }

entry e46 = partition2 (< 2) (> 3) [1, 2, 3, 4, 5]
def id2 = id

-- ==
-- entry: e47
-- input {} output { 1i32 true }

entry e47 = (id2 1, id2 true)
