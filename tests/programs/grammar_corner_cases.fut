-- Grammar corner cases.

-- ==
-- entry: a
-- input { [1,2,3] } output { [2,3,4] 6 }
entry a xs = (map (\x -> x + 1i32) xs, reduce (+) 0 xs)

-- ==
-- entry: b
-- input { 3 } output { 7 }
entry b (x: i32) = let f x = x * 2 in f x + 1

-- ==
-- entry: c
-- input { [1,2,3] } output { 2 1 3 }
entry c (xs: []i32) = let f (a: i32) = a in (f xs[1], f(xs[0]), (f) xs[2])

-- ==
-- entry: d
-- input { 3i64 } output { [0i64,2,4] }
entry d n = tabulate n \i -> i * 2

-- ==
-- entry: e
-- input { 5 } output { true }
entry e (x: i32) = x > 3 && x < 10 || x == -1 && !(x != 2)

-- ==
-- entry: f
-- input { 2 } output { 3 }
entry f (x: i32) = if x == 1 then 2 else let y = x + 1 in y

-- ==
-- entry: g
-- input { 2 } output { 12 }
entry g (x: i32) = x |> (+1) |> \y -> y * 4

-- ==
-- entry: h
-- input { 4.0 } output { 2.0 3.0 }
entry h (x: f64) = (f64.sqrt x, f64.(sqrt (x + 5)))

-- ==
-- entry: i
-- input { 1 } output { 3 }
entry i (x: i32) =
  -- comment in between
  let y = x -- trailing
  -- another
  let z = y + 1
  in z + y

-- ==
-- entry: j
-- input { 1 } output { 3 }
entry j (x: i32) = ((((x + 2))))

-- ==
-- entry: k
-- input { [[1,2],[3,4]] } output { 4 3 }
entry k (m: [][]i32) = (m[1,1], m[1][0])
def infixop (x: i32) (y: i32) = x * 100 + y

-- ==
-- entry: l
-- input { 1 2 } output { 102 201 103 }
entry l (x: i32) (y: i32) = (x `infixop` y, (`infixop` x) y, (x `infixop`) 3)
def (|+|) (a: (i32, i32)) (b: (i32, i32)) = (a.0 + b.0, a.1 + b.1)

-- ==
-- entry: m
-- input { 1 2 } output { 2 4 }
entry m (x: i32) (y: i32) = (x, y) |+| (x, y)
def a *% b = a * b % 7i32

-- ==
-- entry: n
-- input { 5 } output { 5 }
entry n (x: i32) = x + 3 *% 0 + 0 *% x

-- ==
-- entry: o
-- input { 3 } output { -3 -2 2 }
entry o (x: i32) = (-x, -x+1, - x + 5)

-- ==
-- entry: p
-- input { 3 } output { 1 }
entry p (x: i32) = match x case 1 -> 0 case 3 -> (match x case 3 -> 1 case _ -> 5) case _ -> 2

-- ==
-- entry: q
-- input { 3 } output { 3 1 }
entry q (x: i32) = let {a, b} = {a = x, b = 1} in (a, b)

-- ==
-- entry: r
-- input { 3 } output { 9 }
entry r (x: i32) = (\x y -> x * y) x x

-- ==
-- entry: s
-- input { 3 } output { 6 }
entry s (x: i32) = let add (a, b) = a + b in add (x, x)

-- ==
-- entry: t
-- input { 3 } output { 4 }
entry t (x: i32) : i32 = (let y = x in y + 1)

-- ==
-- entry: u
-- input { 3 } output { 5 }
entry u (x: i32) = let (op) = (+) in op x 2

-- ==
-- entry: v
-- input { 3 } output { [3,3] }
entry v (x: i32) = replicate 2 x : [2]i32

-- ==
-- entry: w
-- input { 3 } output { 1 }
entry w (x: i32) = assert (x > 2) (assert true 1)

-- ==
-- entry: x
-- input { 3 } output { 27 }
entry x (x: i32) = x ** 3

-- ==
-- entry: y
-- input { 10 } output { [0,3,6,9] }
entry y (n: i32) = 0..3..<n

-- ==
-- entry: z
-- input { 3 } output { [3,2,1] }
entry z (n: i32) = n..n-1...1

-- ==
-- entry: aa
-- input { 3 } output { 5 }
entry aa (x: i32) = let f = (+ 2) in f x

-- ==
-- entry: ab
-- input { [1] } output { 1 }
entry ab (xs: []i32) = (.[0]) xs

-- ==
-- entry: ac
-- input { 3 } output { 6 }
entry ac = \(x: i32) -> x * 2

-- ==
-- entry: ad
-- input { 1 2 3 } output { 6 }
entry ad (x: i32) = \(y: i32) (z: i32) -> x + y + z

-- ==
-- entry: ae
-- input { 3 } output { 4 }
entry ae (x: i32) = (x + 1 : i32) :> i32

-- ==
-- entry: af
-- input { 7 } output { 1 }
entry af (x: i32) = x & 1 ^ 2 | 0 & 3 ^ 2

-- ==
-- entry: ag
-- input { 2 } output { [[2,2],[2,2]] }
entry ag (x: i32) = [[x, x], replicate 2 x]

-- ==
-- entry: ah
-- input { 5 } output { 5 }
#[inline]
entry ah (x: i32) = #[opaque] x

-- ==
-- entry: ai
-- input { 5 } output { 8 }
entry ai (n: i32) = (loop (a, b) = (1, 1) for _ in 0..<n do (b, a + b)).0
