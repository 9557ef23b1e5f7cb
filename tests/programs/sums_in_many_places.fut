-- Sums & records deep.

type tree = #leaf | #node {l: i32, v: f64, r: i32}
type expr = #num f64 | #add i32 i32 | #mul i32 i32

-- ==
-- entry: a
-- input {} output { 14.0 }
entry a =
  let prog : []expr = [#num 2, #num 3, #num 4, #mul 1 2, #add 0 3]
  let vals = loop vals = replicate (length prog) 0f64 for i < length prog do
    let v = match prog[i] case #num x -> x case #add a b -> vals[a] + vals[b] case #mul a b -> vals[a] * vals[b]
    in vals with [i] = v
  in last vals

-- ==
-- entry: b
-- input { [1,-2,3] } output { [1,0,3] }
entry b (xs: []i32) = map (\x -> match (if x > 0 then #just x else #nothing : #just i32 | #nothing) case #just y -> y case #nothing -> 0) xs

-- ==
-- entry: c
-- input { 3 } output { true false }
entry c (x: i32) = let a : #p i32 | #q = #p x let b : #p i32 | #q = #q in (a == #p 3, a == b)
type either 'a 'b = #left a | #right b
def either 'a 'b 'c (f: a -> c) (g: b -> c) (e: either a b) : c = match e case #left x -> f x case #right y -> g y

-- ==
-- entry: d
-- input { 3 } output { 4 }
-- input { -3 } output { 1 }
entry d (x: i32) = either (+ 1) (\(b: bool) -> i32.bool b) (if x > 0 then #left x else #right true)

-- ==
-- entry: e
-- input { 2 } output { 2 [1,2] }
entry e (x: i32) = match (#c x [1,2] : #c i32 [2]i32) case #c a b -> (a, b)
type^ handler = #h (i32 -> i32)

-- ==
-- entry: f
-- input { 2 } output { 3 }
entry f (x: i32) = match (#h (+1) : handler) case #h g -> g x

-- ==
-- entry: g
-- input { 5 } output { 2 }
entry g (x: i32) : i32 = match {a = x, b = (x, true)} case {a = 1, b = _} -> 1 case {a = _, b = (5, true)} -> 2 case _ -> 3

-- ==
-- entry: h
-- input { 1.5 } output { 1 }
-- input { 2.5 } output { 0 }
entry h (x: f64) = match x case 1.5 -> 1i32 case _ -> 0
type enum = #red | #green | #blue
def next (c: enum) : enum = match c case #red -> #green case #green -> #blue case #blue -> #red

-- ==
-- entry: i
-- input {} output { true }
entry i = next (next (next #red)) == #red

-- ==
-- entry: j
-- input { [0,1,2,1] } output { [1,2,1] }
entry j (xs: []i32) =
  let cs = map (\x : enum -> if x == 0 then #red else if x == 1 then #green else #blue) xs
  let count c = i32.sum (map (\d -> i32.bool (c == d)) cs)
  in [count #red, count #green, count #blue]
def loopsum (n: i32) : #done i32 | #more = loop s = #more : #done i32 | #more for i < n do match s case #more -> if i == 3 then #done i else #more case #done x -> #done x

-- ==
-- entry: k
-- input { 10 } output { 3 }
-- input { 2 } output { -1 }
entry k (n: i32) = match loopsum n case #done x -> x case #more -> -1

-- ==
-- entry: l
-- input { 1 } output { 7 }
entry l (x: i32) = let f (#one y : #one i32) = y + 6 in f (#one x)

-- ==
-- entry: m
-- input { 3 } output { 3 }
entry m (x: i32) = match (x, x) case (y, _) -> y

-- ==
-- entry: n
-- input { 3 } output { 10 }
entry n (x: i32) = match #a (#b x) : #a (#b i32 | #c) | #d case #a (#b y) -> y + 7 case #a #c -> 0 case #d -> 1
