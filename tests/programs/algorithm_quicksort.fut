-- Quicksort.

def qs [n] (xs: [n]i32) : [n]i32 =
  let step (xs: []i32) = xs in
  if n <= 1 then xs else
    let p = xs[n/2]
    let (l, e, r) = partition2 (< p) (== p) (step xs)
    in (qs l ++ e ++ qs r) :> [n]i32

-- ==
-- entry: main
-- input { [3i32,1,2,3,0] } output { [0i32,1,2,3,3] }
entry main xs = qs xs
def gcd (a: i64) (b: i64) : i64 = if b == 0 then a else gcd b (a % b)
def ack (m: i32) (n: i32) : i32 = if m == 0 then n + 1 else if n == 0 then ack (m-1) 1 else ack (m-1) (ack m (n-1))

-- ==
-- entry: g
-- input {} output { 6i64 9i32 }
entry g = (gcd 54 24, ack 2 3)
