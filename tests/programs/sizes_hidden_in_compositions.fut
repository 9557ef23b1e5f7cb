-- Functions whose results have sizes of their own, composed with others.
def evens [n] (xs: [n]i32) = filter (\x -> x % 2 == 0) xs
-- ==
-- entry: f g h
-- input { [1,2,3,4] } output { [4,8] }
entry f xs = (evens >-> map (*2)) xs
entry g (xs: []i32) = (evens >-> map (*2)) xs
entry h (xs: []i32) = xs |> evens |> map (*2)
-- ==
-- entry: i
-- input { [1,2,3,-4] } output { 3i64 }
entry i = filter (>0i32) >-> length
-- ==
-- entry: j
-- input { [[1,2],[-1,0]] } output { [2i64, 0] }
entry j (xss: [][]i32) = map (filter (>0) >-> length) xss
-- ==
-- entry: l
-- input { [1,2,3,4] [1,1] } output { [3,5] }
-- input { [1,2,3,4] [1,1,3] } error: .
-- input { [1,2,3,4] [1] } error: .
entry l (xs: []i32) (zs: []i32) = (filter (\x -> x%2==0) >-> (\ys -> map2 (+) ys zs)) xs
-- ==
-- entry: m
-- input { [1,2,3,4] } output { [2i64,4] }
entry m (xs: []i32) = (filter (\x -> x%2==0) >-> (\ys -> map i64.i32 ys)) xs
-- ==
-- entry: n
-- input { [1,2,3,4] } output { [[2,2,2],[4,4,4]] }
entry n (xs: []i32) = (evens >-> map (replicate 3)) xs
-- ==
-- entry: o
-- input { [1,2,3,4] } output { [2,4,2,4] }
entry o (xs: []i32) = (evens >-> (\x -> x ++ x)) xs
def pipe = evens >-> map (+1) >-> filter (>3)
-- ==
-- entry: p
-- input { [1,2,3,4] } output { [5] 1i64}
entry p (xs: []i32) = let r = pipe xs in (r, length r)
