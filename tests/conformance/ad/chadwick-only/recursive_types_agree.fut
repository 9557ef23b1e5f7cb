-- Lists and trees in arrays, loops, reductions and scans, trees with arrays of children, types that contain each other: reverse mode agrees
-- with forward mode, once and twice, and so do many directions at a time.
-- ==
-- entry: lists_in_an_array joined_lists prefixes_of_lists trees_with_many_children mutual_types a_chosen_list
-- input { [0.4, 0.7, -0.2] } output { true }

type rec l = #nil | #cons f64 l
type rec rose = #rose f64 ([]rose)
type rec expr = #num f64 | #let binding expr | #add expr expr
     and binding = #bind f64 expr
def from [n] (at: i64) (xs: [n]f64): l = if at == n then #nil else #cons xs[at] (from (at + 1) xs)
def first (l: l): f64 = match l case #nil -> 1 case #cons h _ -> f64.sin h
def total (l: l): f64 = match l case #nil -> 0.5 case #cons h t -> h * first t + f64.sin (total t)

-- Lists in an array, updated in place in a loop.
def a [n] (xs: [n]f64): f64 =
  let ls = map (\i -> from i xs) (iota n)
  let ls = loop ls = ls for i < n do
    let j = (i * 2) % n
    let new: l = copy (#cons (total ls[i]) (match ls[(i + 1) % n] case #nil -> #nil case #cons _ t -> t))
    in ls with [j] = new
  in f64.sum (map total ls) + first ls[0] * total ls[n - 1]

-- A list as the state of a reduction or scan.
def join (x: l) (y: l): l = match x case #nil -> y case #cons h t -> #cons (h * first y) (join t y)
def b [n] (xs: [n]f64): f64 = total (reduce join #nil (map (\i -> from i xs) (iota n)))
def c [n] (xs: [n]f64): f64 = f64.sum (map first (scan join #nil (map (\i -> from i xs) (iota n))))

-- Trees with arrays of children.
def grow [n] (d: i64) (xs: [n]f64): rose =
  #rose (xs[d % n] * f64.i64 d) (if d == 0 then [] else map (\i -> grow (d - 1) (map (* (1 + f64.i64 i)) xs)) (iota 2))
def root (r: rose): f64 = match r case #rose x _ -> x * x
def value (r: rose): f64 = match r
  case #rose x rs -> f64.sin x + f64.sum (map (\r -> root r * value r) rs) + (if length rs > 0 then root rs[0] else 0)
def d [n] (xs: [n]f64): f64 = value (grow 3 (map (* 0.3) xs))

-- Types that contain each other.
def rec eval (env: f64) (e: expr): f64 = match e
  case #num x -> x * env
  case #let b e -> (match b case #bind k e2 -> eval (k * eval env e2) e) + head e
  case #add x y -> eval env x * head y + eval env y
and head (e: expr): f64 = match e
  case #num x -> x
  case #let b _ -> (match b case #bind k _ -> k * k)
  case #add _ _ -> 1
def e [n] (xs: [n]f64): f64 =
  eval xs[0] (#let (#bind xs[1] (#add (#num xs[2]) (#num xs[0])))
                   (#add (#let (#bind xs[0] (#num xs[1])) (#num xs[2])) (#num xs[1])))

-- A list in a while loop inside a map, chosen by a condition.
def f [n] (xs: [n]f64): f64 =
  let ls = from 0 xs
  let ms = from 1 xs
  in f64.sum (map (\i ->
    let l = if i % 2 == 0 then ls else ms
    in (loop (s, l) = (xs[i], l) while s < 3 do
          (match l case #nil -> (s + 1, ls) case #cons h t -> (s * 1.5 + f64.abs h * first t, t))).0 * total l) (iota n))

def close [n] (xs: [n]f64) (ys: [n]f64): bool = and (map2 (\x y -> f64.abs (x - y) <= 1e-9 * f64.max 1 (f64.abs x)) xs ys)
def agrees (f: [3]f64 -> f64) (xs: [3]f64): bool =
  let unit i = map (\j -> f64.bool (i == j)) (iota 3)
  let seed = [0.3, -1, 0.7]
  let two x = [f x, f (map (* 0.5) x)]
  in close (vjp f xs 1) (map (\i -> jvp f xs (unit i)) (iota 3))
     && close (vjp (\x -> vjp f x 1) xs seed) (jvp (\x -> vjp f x 1) xs seed)
     && close (vjp (\x -> jvp f x seed) xs 1) (jvp (\x -> vjp f x 1) xs seed)
     && close (flatten (jacfwd two xs)) (flatten (jacrev two xs))
     && close (map (\row -> f64.sum (map2 (*) row seed)) (hessian f xs)) (vjp (\x -> vjp f x 1) xs seed)

entry lists_in_an_array (xs: [3]f64) = agrees a xs
entry joined_lists (xs: [3]f64) = agrees b xs
entry prefixes_of_lists (xs: [3]f64) = agrees c xs
entry trees_with_many_children (xs: [3]f64) = agrees d xs
entry mutual_types (xs: [3]f64) = agrees e xs
entry a_chosen_list (xs: [3]f64) = agrees f xs
