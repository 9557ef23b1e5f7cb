-- Lists and trees of which several functions read parts. A cotangent that is zero in some part is shown in the form of the value.
-- Expected values: total [a, b, c, d] = ab + bc + cd, whose gradient is [b, a + c, b + d, c] and whose Hessian is tridiagonal.
-- ==
-- entry: primal
-- input { [1.0, 2.0, 3.0, 4.0] } output { 20.0 }

-- ==
-- entry: fwd rev rev_list
-- input { [1.0, 2.0, 3.0, 4.0] } output { [2.0, 4.0, 6.0, 3.0] }

-- ==
-- entry: rev_first rev_first_of_choice
-- input { [1.0, 2.0, 3.0, 4.0] } output { [1.0, 0.0, 0.0, 0.0] }

-- ==
-- entry: rev_unread
-- input { [1.0, 2.0, 3.0, 4.0] } output { [0.0, 0.0, 0.0, 0.0] }

-- ==
-- entry: fwd_rev rev_rev rev_rev_list rev_fwd
-- input { [1.0, 2.0, 3.0, 4.0] [0.0, 1.0, 0.0, 0.0] } output { [1.0, 0.0, 1.0, 0.0] }

-- 6 a + 9 b + 15 a b.
-- ==
-- entry: rev_map fwd_map
-- input { [1.0, 2.0, 3.0, 4.0] } output { [36.0, 24.0, 0.0, 0.0] }

-- b c + 4 a b.
-- ==
-- entry: rev_in_map fwd_in_map
-- input { [1.0, 2.0, 3.0, 4.0] } output { [8.0, 7.0, 2.0, 0.0] }

-- ==
-- entry: rev_rule
-- input { [1.0, 2.0, 3.0, 4.0] } output { [10.0, 100.0, 0.0, 0.0] }

-- x y z + y^2 - 5 x z + y.
-- ==
-- entry: rev_tree fwd_tree
-- input { [1.0, 2.0, 3.0] } output { [-9.0, 8.0, -3.0] }

type rec list = #nil | #cons f64 list
type choice = #neither | #one list | #both list list

def list_from [n] (at: i64) (xs: [n]f64): list = if at == n then #nil else #cons xs[at] (list_from (at + 1) xs)
def to_array (n: i64) (l: list): [n]f64 =
  (loop (xs, l) = (replicate n 0, l) for i < n do match l case #nil -> (xs, l) case #cons h t -> (copy xs with [i] = h, t)).0

def first (l: list): f64 = match l case #nil -> 0 case #cons h _ -> h
def total (l: list): f64 = match l case #nil -> 0 case #cons h t -> h * first t + total t
def of_array [n] (xs: [n]f64): f64 = total (list_from 0 xs)

entry primal [n] (xs: [n]f64) = of_array xs
entry rev [n] (xs: [n]f64) = vjp of_array xs 1
entry fwd [n] (xs: [n]f64) = map (\i -> jvp of_array xs (map (\j -> f64.bool (i == j)) (iota n))) (iota n)
entry rev_list [n] (xs: [n]f64) = to_array n (vjp total (list_from 0 xs) 1)
entry rev_first [n] (xs: [n]f64) = to_array n (vjp first (list_from 0 xs) 1)
entry rev_unread [n] (xs: [n]f64) = to_array n (vjp (\l -> match l case #nil -> 1 case #cons _ _ -> 2) (list_from 0 xs) 1)

entry rev_first_of_choice [n] (xs: [n]f64) =
  let of (c: choice) = match c case #neither -> 0 case #one l -> first l case #both l _ -> first l
  let c: choice = #both (list_from 0 xs) (list_from 1 xs)
  in match vjp of c 1 case #both l m -> map2 (+) (to_array n l) (map (* 5) (to_array n m)) case _ -> replicate n 7

entry fwd_rev [n] (xs: [n]f64) (ts: [n]f64) = jvp (\xs -> vjp of_array xs 1) xs ts
entry rev_rev [n] (xs: [n]f64) (ts: [n]f64) = vjp (\xs -> vjp of_array xs 1) xs ts
entry rev_fwd [n] (xs: [n]f64) (ts: [n]f64) = vjp (\xs -> jvp of_array xs ts) xs 1
entry rev_rev_list [n] (xs: [n]f64) (ts: [n]f64) =
  to_array n (vjp (\l -> vjp total l 1) (list_from 0 xs) (list_from 0 ts))

-- Lists in an array: several elements of a map read one of them.
def of_lists [n] (xs: [n]f64): f64 =
  let lists = [list_from 0 (take 2 xs), list_from 1 xs]
  in f64.sum (map (\i -> f64.i64 i * (first lists[i % 2] + total lists[0])) (iota 6))
entry rev_map [n] (xs: [n]f64) = vjp of_lists xs 1
entry fwd_map [n] (xs: [n]f64) = map (\i -> jvp of_lists xs (map (\j -> f64.bool (i == j)) (iota n))) (iota n)

-- A list from outside: every element of a map reads a part of it.
def of_one_list [n] (xs: [n]f64): f64 =
  let l = list_from 0 xs
  let second (l: list) = match l case #nil -> 0 case #cons _ t -> first t
  let third (l: list) = match l case #nil -> 0 case #cons _ t -> second t
  in f64.sum (map (\i -> if i == 0 then second l * third l else first l * second l) (iota 5))
entry rev_in_map [n] (xs: [n]f64) = vjp of_one_list xs 1
entry fwd_in_map [n] (xs: [n]f64) = map (\i -> jvp of_one_list xs (map (\j -> f64.bool (i == j)) (iota n))) (iota n)

-- A rule sees and gives cotangents in the form of the values.
def ruled (l: list): list =
  with_vjp (\(l: list) -> match l case #nil -> l case #cons h t -> #cons (h * 3) t)
           (\_ (c: list) -> match c case #nil -> (#nil: list) case #cons h t -> #cons (h * 10) (match t case #nil -> t case #cons k u -> #cons (k + 100) u))
           l
entry rev_rule [n] (xs: [n]f64) = vjp (\xs -> first (ruled (list_from 0 xs))) xs 1

type rec tree = #leaf f64 | #node f64 tree tree
def root (t: tree): f64 = match t case #leaf x -> x case #node x _ _ -> x
def sum (t: tree): f64 = match t case #leaf x -> x * x case #node x a b -> x * root a * root b + sum a - 5 * x * root b + root a
def of_tree (xs: [3]f64): f64 = sum (#node xs[0] (#leaf xs[1]) (#leaf xs[2]))
entry rev_tree (xs: [3]f64) = vjp of_tree xs 1
entry fwd_tree (xs: [3]f64) = map (\i -> jvp of_tree xs (map (\j -> f64.bool (i == j)) (iota 3))) (iota 3)
