-- Sizes that only values know, sums, modules and functions as values, each with its value.
type~ sized = ?[n].[n]i32
def mk (n: i64): sized = replicate n 1i32

-- ==
-- entry: s1
-- input {} output { 4i64 }

entry s1 = length (mk 4)
type opt 'a = #none | #some a
def mapopt 'a 'b (f: a -> b) (o: opt a): opt b = match o case #none -> #none case #some x -> #some (f x)

-- ==
-- entry: s2
-- input {} output { 4i32 }

entry s2 = match mapopt (+ 1) (#some 3) case #some x -> x case #none -> 0
type^ fun = #f (i32 -> i32) | #c i32
def ap (f: fun) (x: i32) = match f case #f g -> g x case #c y -> y

-- ==
-- entry: s3
-- input {} output { 5i32 9i32 }

entry s3 = (ap (#f (+ 2)) 3, ap (#c 9) 3)
type shape = #circle f32 | #rect f32 f32 | #unit
def area (s: shape): f32 = match s case #circle r -> f32.pi * r * r case #rect a b -> a * b case #unit -> 1

-- ==
-- entry: s4
-- input {} output { [6.0f32, 1.0f32, 1.0f32] }

entry s4 = map area [#rect 2 3, #unit, #rect 1 1]
def f (n: i64) (m: i64) (xs: [n][m]i32): [m][n]i32 = transpose xs

-- ==
-- entry: s5
-- input {} output { [[1i32, 4i32], [2i32, 5i32], [3i32, 6i32]] }

entry s5 = f 2 3 [[1, 2, 3], [4, 5, 6]]
def g [n] (xs: [n]i32): ?[m].[m]i32 = filter (\x -> x % 2 == 0) xs

-- ==
-- entry: s6
-- input {} output { [6i32, 12i32] }

entry s6 = let ys = g [1, 2, 3, 4] let zs = map (* 2) ys in map2 (+) ys zs
def chunks [n] (k: i64) (xs: [n * k]i32): [n][k]i32 = unflatten xs

-- ==
-- entry: s7
-- input {} output { [[1i32, 2i32], [3i32, 4i32]] }

entry s7 = chunks 2 [1, 2, 3, 4]
def h [n][m] (xs: [n]i32) (ys: [m]i32) = (xs ++ ys) : [n + m]i32

-- ==
-- entry: s8
-- input {} output { [1i32, 2i32, 3i32] }

entry s8 = h [1] [2, 3]

-- ==
-- entry: s9
-- input {} output { [0i32, 0i32, 0i32] }

entry s9 = let xs = [1, 2, 3] let n = length xs in (replicate n 0 : [n]i32)
def matmul [n][m][p] (a: [n][m]i32) (b: [m][p]i32): [n][p]i32 = map (\ar -> map (\bc -> reduce (+) 0 (map2 (*) ar bc)) (transpose b)) a

-- ==
-- entry: s10
-- input {} output { [[19i32, 22i32], [43i32, 50i32]] }

entry s10 = matmul [[1, 2], [3, 4]] [[5, 6], [7, 8]]

-- ==
-- entry: s11
-- input {} output { [1i64, 2i64, 3i64] }

entry s11 = loop xs = iota 3 for i < 2 do map (+ i) xs

-- ==
-- entry: s12
-- input {} output { [1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32, 1i32] 8i32 }

entry s12 = loop (xs, n) = ([1i32], 1) while n < 5 do (xs ++ xs, n * 2)
def take_while [n] (p: i32 -> bool) (xs: [n]i32) = let k = (loop k = 0 while k < n && p xs[k] do k + 1) in take k xs

-- ==
-- entry: s13
-- input {} output { [1i32, 2i32] }

entry s13 = take_while (< 3) [1, 2, 3, 1]
def pow2 (n: i64) = 2 ** n

-- ==
-- entry: s14
-- input {} output { [true, true, true, true, true, true, true, true] }

entry s14 = replicate (pow2 3) true
def dup [n] 'a (xs: [n]a): [n * 2]a = flatten (map (\x -> [x, x]) xs) :> [n * 2]a

-- ==
-- entry: s15
-- input {} output { [1i32, 1i32, 2i32, 2i32] }

entry s15 = dup [1, 2]

-- ==
-- entry: s16
-- input {} output { [1i32, 2i32] }

entry s16 = (if true then [1, 2] else [3, 4, 5])

-- ==
-- entry: s17
-- input {} output { [2i32, 3i32] }

entry s17 = match 3 case 1 -> [1] case _ -> [2, 3]
def window [n] (k: i64) (xs: [n]i32) = tabulate (n - k + 1) (\i -> i32.sum xs[i:i + k])

-- ==
-- entry: s18
-- input {} output { [3i32, 5i32, 7i32] }

entry s18 = window 2 [1, 2, 3, 4]
def part3 [n] (xs: [n]i32) = let (a, b, c) = partition2 (< 2) (< 4) xs in (length a, length b, length c)

-- ==
-- entry: s19
-- input {} output { 1i64 2i64 2i64 }

entry s19 = part3 [1, 2, 3, 4, 5]

-- ==
-- entry: s20
-- input {} output { 3i64 }

entry s20 = let f (xs: []i32) (ys: []i32) = length xs + length ys in f [1] [2, 3]
def curried = \x -> \y -> x + y + 1i32

-- ==
-- entry: s21
-- input {} output { 4i32 }

entry s21 = curried 1 2
def applyn 'a (n: i32) (f: a -> a) (x: a) = loop x for _ < n do f x

-- ==
-- entry: s22
-- input {} output { [8i32, 16i32] }

entry s22 = applyn 3 (map (* 2)) [1, 2]

-- ==
-- entry: s23
-- input {} output { [2i32, 3i32] }

entry s23 = map (\f -> f 1) (map (\x -> (+ x)) [1, 2])
def sum_of [n] 't (plus: t -> t -> t) (zero: t) (xs: [n]t) = reduce plus zero xs

-- ==
-- entry: s24
-- input {} output { 6i32 }

entry s24 = sum_of (+) 0 [1, 2, 3]
module type num = { type t val add : t -> t -> t val zero : t }
module sumr (N: num) : { val total [n] : [n]N.t -> N.t } = { def total [n] (xs: [n]N.t) = reduce N.add N.zero xs }
module si = sumr { type t = i32 def add (x: i32) y = x + y def zero = 0i32 }

-- ==
-- entry: s25
-- input {} output { 6i32 }

entry s25 = si.total [1, 2, 3]
module mt : { type t = i32 val x : t } = { type t = i32 def x = 3i32 }

-- ==
-- entry: s26
-- input {} output { 4i32 }

entry s26 = mt.x + 1
open { def hidden_helper (x: i32) = x + 1 }

-- ==
-- entry: s27
-- input {} output { 3i32 }

entry s27 = hidden_helper 2
local def priv = 3i32

-- ==
-- entry: s28
-- input {} output { 3i32 }

entry s28 = priv

-- ==
-- entry: s29
-- input {} output { 15i32 }

entry s29 = let (a, (b, c)) = (1, (2, 3)) let {x, y = z} = {x = 4, y = 5} in a + b + c + x + z

-- ==
-- entry: s30
-- input {} output { 3i32 }

entry s30 = let t = (1, 2, 3) in t.2
def rec1 = {a = 1, b = {c = 2.5}}

-- ==
-- entry: s31
-- input {} output { 2.5f64 }

entry s31 = rec1.b.c

-- ==
-- entry: s32
-- input {} output { 3i32 }

entry s32 = (map (\(x: {a: i32, b: i32}) -> x.a + x.b) [{a = 1, b = 2}])[0]

-- ==
-- entry: s33
-- input {} output { 3i32 }

entry s33 = #[sequential] reduce (+) 0 (map (\x -> x) [1, 2])

-- ==
-- entry: s34
-- input {} output { 5i32 }

entry s34 = i32.sum <| map (+ 1) <| [1, 2]

-- ==
-- entry: s35
-- input {} output { 5i32 }

entry s35 = [1, 2] |> map (+ 1) |> i32.sum

-- ==
-- entry: s36
-- input {} output { 6i32 }

entry s36 = let x = 2 in x ** 3 + -x

-- ==
-- entry: s37
-- input {} output { true }

entry s37 = (3 > 2) == true

-- ==
-- entry: s38
-- input {} output { true }

entry s38 = bool.i32 3

-- ==
-- entry: s39
-- input {} output { 4.0f32 }

entry s39 = f32.round 2.5 + f32.ceil 1.2 + f32.floor 1.8 + f32.trunc (-1.5)

-- ==
-- entry: s40
-- input {} output { [2i32, 3i32, 1i32] }

entry s40 = let a = [1, 2, 3] in a[1:] ++ a[:1]
def scanl [n] (xs: [n]i32) = let ys = scan (+) 0 xs in map2 (-) ys xs

-- ==
-- entry: s41
-- input {} output { [0i32, 1i32, 3i32] }

entry s41 = scanl [1, 2, 3]
def argmax [n] (xs: [n]f32) = reduce (\(i, x) (j, y) -> if x > y then (i, x) else (j, y)) (-1, f32.lowest) (zip (iota n) xs)

-- ==
-- entry: s42
-- input {} output { 1i64 5.0f32 }

entry s42 = argmax [1, 5, 3]

-- ==
-- entry: s43
-- input {} output { [1i32, 2i32] [1i32, 2i32] }

entry s43 = unzip <| map (\x -> (x, x)) [1, 2]
