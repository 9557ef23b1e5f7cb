-- Every odd production of the grammar.

-- ==
-- entry: a
-- input { [[1i32,2],[3i32,4]] 1i64 } output { 4i32 3i32 2i32 [2i32] }
entry a (xs: [][]i32) (i: i64) = (xs[i][1], xs[i,0], (xs[0])[1], xs[0][1:])

-- ==
-- entry: b
-- input {} output { 7i32 [1i32] 2i32 }
entry b = let f (xs: [1]i32) = xs[0] in (f [7], (\x -> x) [1i32], f ([2]))
def g[n] (xs: [n]i32) : i64 = n

-- ==
-- entry: c
-- input {} output { 2i64 -3i32 5i32 -1i32 }
entry c = (g [1,2], -3, (- (-5)), let f x = -x in f 1i32)

-- ==
-- entry: d
-- input {} output { 6i32 3i32 1i32 }
entry d = (let x = 1 let y = 2 in let z = 3 in x + y + z, (3 -) 0, (`i32.min` 1) 4)

-- ==
-- entry: e
-- input { 3i32 } output { 1i32 }
entry e x = if x > 1 && x < 5 then if x == 3 then 1 else 2 else 3

-- ==
-- entry: f
-- input {} output { [1i64,2,3] [0i32,4] }
entry f = (map (\x -> x + 1) (iota 3), (\i -> [0i32, i]) <| loop a = 1 for _ in [1,2i32] do a * 2)

-- ==
-- entry: h
-- input {} output { 5i32 10i32 }
entry h = let r = {f = \x -> x + 1, g = {h = \x -> x * 2i32}} in (r.f 4i32, r.g.h 5)

-- ==
-- entry: i
-- input { 3i32 } output { [3i32,4,5] }
entry i x = [x, x + 1, if x > 2 then 5 else 6]

-- ==
-- entry: j
-- input { [1i32,2,3] } output { 3i32 [3i32] }
entry j xs = (xs |> last, xs[2:] : [1]i32)

-- ==
-- entry: k
-- input {} output { 3i64 }
entry k = let n = 3 in length (replicate n (replicate (n - 1) 0u8))

-- ==
-- entry: l
-- input {} output { true true }
entry l = (1 == 1i32 && 2 != 3i32, !(1 > 2i32))

-- ==
-- entry: m
-- input {} output { [[0i32,1],[2i32,3]] }
entry m = let a = [[0,0],[0,0i32]] let a[0,1] = 1 let a[1] = [2,3] in a

-- ==
-- entry: n
-- input {} output { 8i32 }
entry n = assert (1 == 1i32) let x = 4 in x * 2

-- ==
-- entry: o
-- input {} output { 3i32 4i32 }
entry o = let t : (i32, i32) = (3, 4) let (a, b) : (i32, i32) = t in (a, b)

-- ==
-- entry: p
-- input {} output { 10i32 }
entry p = loop acc = 0 for x in [1,2,3,4] do acc + x

-- ==
-- entry: q
-- input {} output { 15i32 }
entry q = (loop (acc : i32, i : i32) = (0, 1) while i <= 5 do (acc + i, i + 1)).0

-- ==
-- entry: r
-- input { [1i32,2,3] } output { 6i32 }
entry r [n] (xs: [n]i32) = let go = loop (i, s) = (0, 0) while i < n do (i + 1, s + xs[i]) in go.1

-- ==
-- entry: s
-- input {} output { -4i32 -3i32 1i32 -1i32 }
entry s = (-7 / 2, -7 // 2, -7 % 2, -7 %% 2)

-- ==
-- entry: t
-- input {} output { 0.1 -0.5f32 1e10 }
entry t = (0.1, -0.5f32, 1e10)

-- ==
-- entry: u
-- input {} output { [1u8,2,255] 255u8 }
entry u = ([1u8, 2, 0xff], u8.highest)

-- ==
-- entry: v
-- input {} output { 5i32 }
entry v = (let f = (+) in f 2 3) : i32

-- ==
-- entry: w
-- input {} output { [2i32,4] [1i32,4] }
entry w = (map (2 *) [1,2], map (** 2) [1,2])

-- ==
-- entry: x
-- input {} output { 3i64 2i64 }
entry x = let xs = [[1,2],[3,4],[5,6i32]] in (length xs, length xs[0])

-- ==
-- entry: y
-- input {} output { 1i32 }
entry y = if true then 1 else 2 : i32

-- ==
-- entry: z
-- input {} output { 4i32 }
entry z = (.a.b) {a = {b = 4i32}}
