-- Derivatives of recursive functions and types, and of loops of all kinds.

def rec fib (n: i64) (x: f64): f64 = if n <= 1 then x * f64.i64 (n + 1) else fib (n - 1) x * 0.5 + fib (n - 2) (x + 1)

-- ==
-- entry: fibs
-- input { 1.3 } output { 39.14999999999999 9.71875 }
entry fibs (x: f64) = vjp2 (fib 8) x 1

def rec even (n: i64) (x: f64): f64 = if n == 0 then x else odd (n - 1) (x * x + 0.1)
and odd (n: i64) (x: f64): f64 = if n == 0 then f64.sin x else even (n - 1) (x * 0.5)

-- ==
-- entry: mutual
-- input { 1.3 } output { 0.29009577216573357 0.3250196034317575 }
entry mutual (x: f64) = vjp2 (\x -> even 7 x + odd 4 x) x 1

-- ==
-- entry: collatz
-- input { 1.3 3i64 } output { 0.4183341830875925 }
entry collatz (x: f64) (k: i64) =
  vjp (\x -> let (y, _) = loop (y, n) = (x, k) while n > 1 do if n % 2 == 0 then (y * 1.1, n / 2) else (f64.sin y + y, 3 * n + 1) in y) x 1

-- ==
-- entry: newton
-- input { 1.3 } output { 1.140175425099138 0.4385290096535146 }
entry newton (a: f64) = vjp2 (\a -> (loop x = a while f64.abs (x * x - a) > 1e-12 do 0.5 * (x + a / x))) a 1

-- ==
-- entry: nested_while
-- input { 1.3 } output { 5.37875 4.1375 }
entry nested_while (x: f64) =
  vjp2 (\x -> loop s = x for i < 4i64 do (loop (t, j) = (s, 0i64) while t < 5 && j < i do (t * 1.5, j + 1)).0 + 0.1 * x) x 1

-- ==
-- entry: grow
-- input { 1.3 } output { 25.3125 }
entry grow (x: f64) =
  vjp (\x -> let xs = loop xs = [x] for i < 4i64 do concat xs (map (* 0.5) xs) in f64.sum (map2 (*) xs (map f64.i64 (indices xs)))) x 1

-- ==
-- entry: triangular
-- input { 1.3 } output { 30.728000000000005 }
entry triangular (x: f64) =
  vjp (\x -> f64.sum (map (\i -> f64.sum (map (\j -> x ** f64.i64 j) (iota i))) (iota 6))) x 1

-- ==
-- entry: zero_trips
-- input { 1.3 3i64 } output { 50.19881360000002 }
entry zero_trips (x: f64) (n: i64) = vjp (\x -> loop y = x for i < n do y * y) x 1

-- ==
-- entry: negative_trips
-- input { 1.3 3i64 } output { 1.0 }
entry negative_trips (x: f64) (n: i64) = vjp (\x -> loop y = x for i < n - 5 do y * y) x 1

-- ==
-- entry: carried_bool
-- input { 1.3 } output { 6.0 }
entry carried_bool (x: f64) =
  vjp (\x -> let (y, _, k) = loop (y, up, k) = (x, true, 0i32) for i < 6i64 do (if up then y * 2 else y - x, !up, k + 1) in y * f64.i32 k) x 1

type rec tree = #leaf f64 | #node tree f64 tree

def rec build (d: i64) (x: f64): tree = if d == 0 then #leaf x else #node (build (d - 1) (x * 0.5)) (x * f64.i64 d) (build (d - 1) (x + 0.25))

def rec total (t: tree): f64 = match t case #leaf x -> f64.exp x case #node l x r -> total l * x + total r

def rec flat (t: tree): []f64 = match t case #leaf x -> [x] case #node l x r -> concat (concat (flat l) [x]) (flat r)

-- ==
-- entry: tree_input
-- input { 1.3 } output { [1.9384927167238297, 5.964592974534861, 9.010051771454174, 8.421957298598464, 5.504775771070493, 6.116417523411659, 12.316952347790092, 7.37699297616374, 3.539586321069685, 4.567208156218948, 8.639995927754137, 3.9288974996205877, 4.42728560008251, 2.45960311115695, 7.767901106306771] }
entry tree_input (x: f64) = flat (vjp total (build 3 x) 1)

-- ==
-- entry: tree_output
-- input { 1.3 } output { 21.375 }
entry tree_output (x: f64) = vjp (build 2) x (build 2 3)

-- ==
-- entry: tree_forward
-- input { 1.3 } output { [0.125, 0.25, 0.25, 1.0, 0.25, 0.5, 0.5, 3.0, 0.25, 0.5, 0.5, 2.0, 0.5, 1.0, 1.0] }
entry tree_forward (x: f64) = flat (jvp (build 3) x 1)

-- ==
-- entry: tree_mapped
-- input { 1.3 } output { 71039.70044391837 }
entry tree_mapped (x: f64) =
  let rec twice (t: tree): tree = match t case #leaf y -> #leaf (y * y) case #node l y r -> #node (twice r) (2 * y) (twice l)
  in vjp (\x -> total (twice (build 3 x))) x 1

type rec expr = #lit f64 | #var i64 | #add expr expr | #mul expr expr | #sin expr

def rec eval [n] (env: [n]f64) (e: expr): f64 =
  match e
  case #lit k -> k
  case #var i -> env[i]
  case #add a b -> eval env a + eval env b
  case #mul a b -> eval env a * eval env b
  case #sin a -> f64.sin (eval env a)

def program: expr = #add (#mul (#var 0) (#sin (#var 1))) (#mul (#lit 3) (#mul (#var 1) (#var 2)))

-- ==
-- entry: interpreter
-- input { [0.7, -1.2, 1.9] } output { -7.492427360177058 [-0.9320390859672263, 5.95365042813367, -3.5999999999999996] }
entry interpreter (xs: [3]f64) = vjp2 (\env -> eval env program) xs 1

-- ==
-- entry: interpreter_literals
-- input { [0.7, -1.2, 1.9] } output { -2.28 }
entry interpreter_literals (xs: [3]f64) = match vjp (eval xs) program 1 case #add _ b -> (match b case #mul k _ -> (match k case #lit d -> d case _ -> 0) case _ -> 0) case _ -> 0

type rec list 't = #nil | #cons t (list t)

def rec fold 'a 'b (f: a -> b -> b) (z: b) (l: list a): b = match l case #nil -> z case #cons x r -> f x (fold f z r)

def rec unfold (n: i64) (x: f64): list (f64, f64) = if n == 0 then #nil else #cons (x, x * f64.i64 n) (unfold (n - 1) (x * x))

-- ==
-- entry: polymorphic_list
-- input { 1.3 } output { 29.262703400000007 }
entry polymorphic_list (x: f64) = vjp (\x -> fold (\(a, b) s -> a * b + 0.5 * s) x (unfold 3 x)) x 1

def rec ackermann (m: i64) (n: i64) (x: f64): f64 = if m == 0 then x + f64.i64 n * x else if n == 0 then ackermann (m - 1) 1 x else ackermann (m - 1) (n - 1) (x * 1.01)

-- ==
-- entry: acker
-- input { 1.3 } output { 2.060602 }
entry acker (x: f64) = vjp (ackermann 3 4) x 1

def rec quicksort [n] (xs: [n]f64): [n]f64 =
  if n <= 1 then copy xs else
  let p = xs[n / 2]
  let (less, rest) = partition (< p) xs
  let (same, more) = partition (== p) rest
  in sized n (concat (concat (quicksort less) same) (quicksort more))

-- ==
-- entry: sorting
-- input { [0.7, -1.2, 1.9, 0.4, 1.1, -0.3] } output { [3.0, 0.0, 5.0, 2.0, 4.0, 1.0] }
entry sorting (xs: [6]f64) = vjp (\xs -> let ys = quicksort xs in f64.sum (map2 (*) ys (map f64.i64 (iota 6)))) xs 1
