-- Partial application of size-polymorphic functions.

def f [n] 'a (x: a) (xs: [n]a) : [n]a = map (const x) xs
def g [n] (k: i32) : [n]i32 -> [n]i32 = map (+ k)

-- ==
-- entry: a
-- input { [1i32,2] } output { [9i32,9] [6i32,7] [[0i32],[0i32]] }
entry a xs = let h = f 9i32 in (h xs, g 5 xs, map (f 0i32) [[1],[2]])

-- ==
-- entry: b
-- input { [[1i32,2],[3i32,4]] } output { [3i32,7] [[2i32,4],[6i32,8]] [4i32,6] }
entry b (xs: [][]i32) = (map (reduce (+) 0) xs, map (map (* 2)) xs, map (foldl (+) 0) (transpose xs))

-- ==
-- entry: c
-- input { [1i32,2,3] } output { [[1i32,1],[2i32,2],[3i32,3]] [[1i32,2,3],[1i32,2,3]] }
entry c (xs: []i32) = (map (replicate 2) xs, replicate 2 xs)

-- ==
-- entry: d
-- input { [1i32,2,3] } output { [1i32,2] [[2i32],[3i32]] }
entry d (xs: []i32) = (take 2 <| xs, xs |> drop 1 |> map (\x -> [x]))
def zipWith = map2

-- ==
-- entry: e
-- input {} output { [4i32,6] [true,false] }
entry e = (zipWith (+) [1,2] [3,4], zipWith (==) [1,2i32] [1,3])
def sumBy f = map f >-> reduce (+) 0i32

-- ==
-- entry: f2
-- input { [1i32,2] } output { 5i32 }
entry f2 (xs: []i32) = sumBy (\x -> x * x) xs
