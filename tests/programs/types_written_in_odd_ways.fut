-- Types written in odd ways.

type f32x3 = (f32, f32, f32)
type nested = {a: {b: [2](i32, bool)}, c: ()}
type fn 'a 'b = {run: a -> b}
type sum3 = #one | #two i32 [2]i32 | #three (i32, i32) {x: i32}
def mk : sum3 = #two 1 [2, 3]

-- ==
-- entry: a
-- input {} output { 6i32 }
entry a = match mk case #two x ys -> x + i32.sum ys case #one -> 0 case #three _ _ -> -1
def n : nested = {a = {b = [(1, true), (2, false)]}, c = ()}

-- ==
-- entry: b
-- input {} output { 3i32 }
entry b = i32.sum (map (.0) n.a.b)
def apply (f: (i32 -> i32) -> (i32, i32) -> i32) = f (+ 1) (1, 2)

-- ==
-- entry: c
-- input {} output { 5i32 }
entry c = apply (\g (x, y) -> g x + g y)
def h (xs: [](i32, [2]f32)) : ([]i32, [][2]f32) = unzip xs

-- ==
-- entry: d
-- input {} output { [1i32] [[2f32,3]] }
entry d = h [(1, [2, 3])]
def cps 'a (x: i32) (k: i32 -> a) : a = k (x + 1)

-- ==
-- entry: e
-- input {} output { 3i32 true }
entry e = (cps 1 (+ 1), cps 1 (> 1))
def dep (n: i64) (f: (i: i64) -> [i]i32 -> i32) = f n (replicate n 2)

-- ==
-- entry: f
-- input {} output { 9i32 }
entry f = dep 3 (\i xs -> i32.i64 i + i32.sum xs)
type t [n] 'a = {xs: [n]a, s: a}
def usez [n] 'a (v: t [n] a) : [n]a = map (const v.s) v.xs

-- ==
-- entry: g
-- input {} output { [5i32,5] }
entry g = usez {xs = [1,2], s = 5i32}
type arr [n][m] = [n]t [m] i32

-- ==
-- entry: h2
-- input {} output { 1i64 2i64 }
def dims [n][m] (_: arr [n][m]) = (n, m)
entry h2 = dims [{xs = [1,2], s = 3}]
