-- Expressions of every form, each with its value.
def concat_loop (n: i64) = loop xs = [] for i < n do xs ++ [i]

-- ==
-- entry: e1
-- input {} output { [0i64, 1i64, 2i64, 3i64] }

entry e1 = concat_loop 4

-- ==
-- entry: e2
-- input {} output { 5i32 }

entry e2 = let r = {a = {b = 1i32, c = [1f32, 2]}, d = true} in (r with a.b = 5).a.b

-- ==
-- entry: e3
-- input {} output { [3i32, 4i32, 5i32] }

entry e3 = let f = (+) in map (f 2) [1, 2, 3]

-- ==
-- entry: e4
-- input {} output { [4i32, 6i32] }

entry e4 = map (uncurry (+)) (zip [1, 2] [3, 4])

-- ==
-- entry: e5
-- input {} output { 9i32 }

entry e5 = reduce i32.max i32.lowest [3, 9, 2]
def compose 'a 'b 'c (f: b -> c) (g: a -> b) = \x -> f (g x)

-- ==
-- entry: e6
-- input {} output { 11i32 }

entry e6 = compose (+ 1) (* 2) 5
def sumsq = map (\x -> x * x) >-> f64.sum

-- ==
-- entry: e7
-- input {} output { 14.0f64 }

entry e7 = sumsq [1, 2, 3]
def tri (n: i64): [n][n]i32 = tabulate_2d n n (\i j -> if i >= j then i32.i64 (i - j) else 0)

-- ==
-- entry: e8
-- input {} output { [[0i32, 0i32, 0i32], [1i32, 0i32, 0i32], [2i32, 1i32, 0i32]] }

entry e8 = tri 3

-- ==
-- entry: e9
-- input {} output { [1i32, 3i32, 5i32, 7i32, 9i32] [5i32, 4i32, 3i32, 2i32, 1i32, 0i32] [0i32, 1i32, 2i32] [10i32, 9i32, 8i32] [0i32, 2i32, 4i32, 6i32] }

entry e9 = (1i32..3...9, 5..4...0, 0..<3, 10..>7, 0..2..<7)
def swap 'a 'b (x: a, y: b) = (y, x)

-- ==
-- entry: e10
-- input {} output { true 1i32 }

entry e10 = swap (1, true)
module type stack = { type s 'a val empty 'a : s a val push 'a : a -> s a -> s a val size 'a : s a -> i64 }
module counter_stack : stack = { type s 'a = i64 def empty 'a : s a = 0 def push 'a (_: a) (s: s a) : s a = s + 1 def size 'a (s: s a) = s }

-- ==
-- entry: e11
-- input {} output { 2i64 }

entry e11 = counter_stack.(size (push 3i32 (push 2i32 empty)))
def f (x: i32) (y: i32): i32 = match (x, y) case (0, _) -> 0 case (_, 0) -> 1 case (a, b) -> a + b

-- ==
-- entry: e12
-- input {} output { 0i32 1i32 5i32 }

entry e12 = (f 0 1, f 1 0, f 2 3)

-- ==
-- entry: e13
-- input {} output { [2i64, 4i64, 6i64] [9i64, 8i64, 7i64, 6i64, 5i64, 4i64, 3i64, 2i64, 1i64, 0i64] [8i64, 5i64] }

entry e13 = let xs = iota 10 in (xs[2:8:2], xs[::-1], xs[8:2:-3])
def pick [n] 'a (is: [n]i64) (xs: []a) = map (\i -> xs[i]) is

-- ==
-- entry: e14
-- input {} output { [30i32, 10i32] }

entry e14 = pick [2, 0] [10, 20, 30]

-- ==
-- entry: e15
-- input {} output { [[1i32, 3i32], [2i32, 4i32]] [1i32, 2i32, 3i32, 4i32] [1i32, 2i32] [2i32, 4i32] }

entry e15 = let a = [[1, 2], [3, 4]] in (transpose a, flatten a, a[0, :], a[:, 1])

-- ==
-- entry: e16
-- input {} output { 4i32 }

entry e16 = i32.f64 3.9 + i32.bool true

-- ==
-- entry: e17
-- input {} output { 1i32 }

entry e17 = if true then 1 else 2 |> (+ 10)

-- ==
-- entry: e18
-- input {} output { 1024i32 }

entry e18 = loop x = 1 for i < 10 do x * 2

-- ==
-- entry: e19
-- input {} output { 8i32 }

entry e19 = (\x -> let y = x + 1 let z = y * 2 in z) 3

-- ==
-- entry: e20
-- input {} output { true }

entry e20 = all (> 0) [1, 2] && any (== 2) [1, 2] && !null [1]
type vec3 = {x: f64, y: f64, z: f64}
def dot (a: vec3) (b: vec3) = a.x * b.x + a.y * b.y + a.z * b.z

-- ==
-- entry: e21
-- input {} output { 6.0f64 }

entry e21 = dot {x = 1, y = 2, z = 3} {x = 1, y = 1, z = 1}

-- ==
-- entry: e22
-- input {} output { [1i32, 3i32] }

entry e22 = map (.x) [{x = 1, y = 2}, {x = 3, y = 4}]

-- ==
-- entry: e23
-- input {} output { 2i64 [2i32, 3i32] }

entry e23 = let [n] (xs: [n]i32) = filter (> 1) [1, 2, 3] in (n, xs)
def g [n] (xs: [n]i32) (f: [n]i32 -> i32) = f xs

-- ==
-- entry: e24
-- input {} output { 6i32 }

entry e24 = g [1, 2, 3] i32.sum

-- ==
-- entry: e25
-- input {} output { [1i32, 3i32, 15i32] [2i32, 6i32, 12i32] }

entry e25 = scan (\(a, b) (c, d) -> (a * c, b + d)) (1, 0) [(1, 2), (3, 4), (5, 6)]

-- ==
-- entry: e26
-- input {} output { 123i32 }

entry e26 = foldl (\acc x -> acc * 10 + x) 0 [1, 2, 3]

-- ==
-- entry: e27
-- input {} output { 321i32 }

entry e27 = foldr (\x acc -> acc * 10 + x) 0 [1, 2, 3]

-- ==
-- entry: e28
-- input {} output { [1i32, 0i32, 5i32] }

entry e28 = reduce_by_index (replicate 3 0) (+) 0 [0, 2, 2, 5] [1, 2, 3, 4]

-- ==
-- entry: e29
-- input {} output { [0i32, 7i32, 0i32, 8i32] }

entry e29 = scatter (replicate 4 0) [1, 3, -1] [7, 8, 9]

-- ==
-- entry: e30
-- input {} output { [1i32] [2.5f64] [true] }

entry e30 = zip3 [1] [2.5] [true]

-- ==
-- entry: e31
-- input {} output { [1i32, 2i32] [2.5f64, 3.0f64] [true, false] }

entry e31 = unzip3 (zip3 [1, 2] [2.5, 3] [true, false])
def power (x: i32) (n: i32): i32 = if n == 0 then 1 else x * power x (n - 1)

-- ==
-- entry: e32
-- input {} output { 81i32 }

entry e32 = power 3 4

-- ==
-- entry: e33
-- input {} output { 55i32 }

entry e33 = let rec fib (n: i32): i32 = if n < 2 then n else fib (n - 1) + fib (n - 2) in fib 10

-- ==
-- entry: e34
-- input {} output { true }

entry e34 = f64.pi > 3.14 && f32.inf > 0 && f64.isnan f64.nan

-- ==
-- entry: e35
-- input {} output { [0i32, 6i32] }

entry e35 = map (\(i, x) -> i32.i64 i * x) (zip (indices [5, 6]) [5, 6])

-- ==
-- entry: e36
-- input {} output { 44u8 -56i8 true 255u8 3i32 }

entry e36 = (u8.i32 300, i8.i32 200, 'a' == 97u8, 0xffu8, 0b11i32)

-- ==
-- entry: e37
-- input {} output { 6i32 }

entry e37 = let x = 5 in let x = x + 1 in x

-- ==
-- entry: e38
-- input {} output { 2i32 }

entry e38 = #[unsafe] [1, 2, 3][1]

-- ==
-- entry: e39
-- input {} output { 3i32 }

entry e39 = assert (1 < 2) 3

-- ==
-- entry: e40
-- input {} output { 1i32 true }

entry e40 = (if [1, 2] == [1, 2] then 1 else 0, (1, 2) != (1, 3))
type rec tree = #leaf | #node tree i32 tree
def rec insert (t: tree) (x: i32): tree = match t case #leaf -> #node #leaf x #leaf case #node l y r -> if x < y then #node (insert l x) y r else #node l y (insert r x)
def size (t: tree): i32 = match t case #leaf -> 0 case #node l _ r -> size l + 1 + size r

-- ==
-- entry: e41
-- input {} output { 3i32 }

entry e41 = size (loop t = #leaf for x in [3, 1, 2] do insert t x)

-- ==
-- entry: e42
-- input {} output { [11i32, 20i32] }

entry e42 = let fs = [\x -> x + 1, \x -> x * 2] in map (\f -> f 10) fs

-- ==
-- entry: e43
-- input {} output { 10i32 }

entry e43 = (loop (i, s) = (0, 0) while i < 5 do (i + 1, s + i)).1

-- ==
-- entry: e44
-- input {} output { [4i32, 9i32] }

entry e44 = map2 (\i xs -> i + i32.sum xs) [1, 2] [[1, 2], [3, 4]]

-- ==
-- entry: e45
-- input {} output { [2i32, 3i32, 1i32] }

entry e45 = rotate 1 [1, 2, 3]

-- ==
-- entry: e46
-- input {} output { 10i64 }

entry e46 = i64.sum (map (\i -> i64.sum (iota i)) (iota 5))

-- ==
-- entry: e47
-- input {} output { [1i32, 2i32, 3i32] [2i32, 4i32, 6i32] }

entry e47 = unzip (map (\x -> (x, x * 2)) [1, 2, 3])

-- ==
-- entry: e48
-- input {} output { [9i32, 2i32] }

entry e48 = (copy [1, 2]) with [0] = 9

-- ==
-- entry: e49
-- input {} output { [[0i32, 0i32], [5i32, 6i32], [0i32, 0i32]] }

entry e49 = let a = replicate 3 (replicate 2 0) in a with [1] = [5, 6]

-- ==
-- entry: e50
-- input {} output { 8i32 }

entry e50 = iterate 3 (* 2) 1
