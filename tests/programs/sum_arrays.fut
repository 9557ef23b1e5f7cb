-- Sums that hold arrays, also of hidden size.

type~ sl = #full ([]i32) | #none
def mk (n: i64) : sl = if n == 0 then #none else #full (map i32.i64 (iota n))
def sum (s: sl) : i32 = match s case #full xs -> i32.sum xs case #none -> -1

-- ==
-- entry: a
-- input {} output { 6i32 -1i32 }
entry a = (sum (mk 4), sum (mk 0))
type opt 't = #some t | #none
def firstpos [n] (xs: [n]i32) : opt (i64, i32) =
  reduce (\a b -> match (a, b) case (#some (i, x), #some (j, y)) -> if i < j then #some (i, x) else #some (j, y) case (#some x, #none) -> #some x case (#none, y) -> y)
    #none (map2 (\i x -> if x > 0 then #some (i, x) else #none) (iota n) xs)

-- ==
-- entry: b
-- input { [0i32,-1,5,6] } output { 2i64 5i32 }
-- input { [0i32] } output { -1i64 0i32 }
entry b (xs: []i32) = match firstpos xs case #some p -> p case #none -> (-1, 0)
type vec [n] = #v ([n]i32) | #s i32
def addv [n] (a: vec [n]) (b: vec [n]) : vec [n] = match (a, b)
  case (#v x, #v y) -> #v (map2 (+) x y)
  case (#s x, #v y) -> #v (map (+ x) y)
  case (#v x, #s y) -> #v (map (+ y) x)
  case (#s x, #s y) -> #s (x + y)

-- ==
-- entry: c
-- input {} output { [11i32,12,13] }
entry c = match addv (#v [1,2,3]) (#s 10) case #v x -> x case #s y -> replicate 3 y
