-- Old style and odd layout.

let add (x: i32) (y: i32): i32 = x + y
let main_helper = add 1

-- ==
-- entry: a
-- input { 1 } output { 2 }
entry a (x:i32):i32=main_helper x

-- ==
-- entry: b
-- input { [1,2,3] } output { [2,4,6] }
entry b (xs:[]i32)=map(\x->x*2)xs

-- ==
-- entry: c
-- input { 5 } output { 6 }
entry c (x: i32) : i32 =
  let f (x: i32) : i32 =
    let y = x
    let z = y + 1
    in z
  in f x

-- ==
-- entry: d
-- input { 3 } output { 1 }
-- input { 30 } output { 3 }
entry d (x: i32) = if x < 10 then 1i32 else if x < 20 then 2 else 3

-- ==
-- entry: e
-- input { 2 3 } output { 5 6 -1 }
entry e (x: i32) (y: i32) = let f = \a b -> a + b : i32 let g = (\(a: i32) (b: i32): i32 -> a * b) in (f x y, g x y, (-) x y)

-- ==
-- entry: f
-- input { [1.0,2.0] } output { 3.0 }
entry f (xs: []f64): f64 = reduce (\(x: f64) (y: f64): f64 -> x + y) 0.0 xs

-- ==
-- entry: g
-- input { 1i64 } output { [1i64, 2i64] }
entry g (x: i64) = let (y, ()) = (x, ()) in [y, y+1,]

-- ==
-- entry: h
-- input { 3 } output { 3 4 }
entry h (x: i32) = let {a, b = c} = {a = x, b = x + 1,} in (a, c,)

-- ==
-- entry: i
-- input { 10 } output { 45 }
entry i (n: i32) = (loop (s, j) = (0, 0) while j < n do (s + j, j + 1)).0

-- ==
-- entry: j
-- input { 4i64 } output { [0,1,1,2] }
entry j (n: i64) = let fibs = replicate n 0 let fibs[1] = 1 in loop fibs for k < n - 2 do fibs with [k+2] = fibs[k] + fibs[k+1]

-- ==
-- entry: k
-- input { 1 } output { [1,2,3] }
entry k (x: i32) = [x] ++ [x+1] ++ [x+2]

-- ==
-- entry: l
-- input { [[1,2],[3,4]] } output { [3,7] [4,6] }
entry l (a: [][]i32) = (map (reduce (+) 0) a, map i32.sum (transpose a))

-- ==
-- entry: m
-- input { [5,3,9] } output { 2i64 9 }
entry m (xs: []i32) = reduce (\(i, x) (j, y) -> if x > y then (i, x) else (j, y)) (-1, i32.lowest) (zip (indices xs) xs)

-- ==
-- entry: n
-- input { true } output { 1 }
entry n (b: bool) = i32.bool b

-- ==
-- entry: o
-- input { 7 } output { 3 }
entry o (x: i32) = let rec_ (a: i32) = a / 2 in rec_ x

-- ==
-- entry: p
-- input { [1,2,3,4] } output { [[1,2],[3,4]] }
entry p [n] (xs: [n]i32) = unflatten (xs :> [2*(n/2)]i32)

-- ==
-- entry: q
-- input { [1,5,3] } output { [5,3] [1] }
entry q (xs: []i32) = partition (> 2) xs

-- ==
-- entry: r
-- input { 3 } output { [3,2,1] }
entry r (x: i32) = map i32.i64 (reverse (1...i64.i32 x))

-- ==
-- entry: s
-- input { "abc" } output { 3i64 97u8 [98u8,99u8,100u8] }
entry s (t: []u8) = (length t, t[0], map (+1) t)

-- ==
-- entry: t
-- input { 4 } output { 24 }
entry t (n: i32) : i32 = let fact = \(n: i32) -> i32.product (map i32.i64 (1...i64.i32 n)) in fact n
def x' = 1i32
def x'' = x' + 1

-- ==
-- entry: u
-- input {} output { 3 }
entry u = x' + x''

-- ==
-- entry: v
-- input { 5 } output { 5 }
entry v (x: i32) = (\_ -> x) ()

-- ==
-- entry: w
-- input { [[[1]]] } output { 1 1 }
entry w (a: [1][1][1]i32) = (a[0,0,0], a[0][0][0])
