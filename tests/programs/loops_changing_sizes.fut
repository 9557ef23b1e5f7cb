-- Loops whose arrays change size.

-- ==
-- entry: a
-- input { [5i32,1,4] } output { [5i32,1,4,5,1,4,5,1,4,5,1,4] }
entry a xs = loop xs: []i32 for _i < 2 do xs ++ xs

-- ==
-- entry: b
-- input { 10i64 } output { [3i64,5,7] }
entry b (n: i64) = loop xs = filter (\x -> x % 2 == 1 && x > 1) (iota n) while length xs > 3 do filter (\x -> x == 3 || x == 5 || x == 7) xs

-- ==
-- entry: c
-- input { 8i64 } output { 28i64 }
entry c n = head (loop xs = iota n while length xs > 1 do let h = length xs / 2 in map2 (+) (take h xs) (drop h xs :> [h]i64))

-- ==
-- entry: d
-- input { [3i32,1,2] } output { [1i32,2,3] }
entry d [n] (xs: [n]i32) : [n]i32 = (loop (acc, rest) = ([] : []i32, xs) while length rest > 0 do let m = i32.minimum rest in (acc ++ [m], filter (!= m) rest)).0 :> [n]i32

-- ==
-- entry: e
-- input { 4i64 } output { [[1i32,0,0,0],[1i32,1,0,0],[1i32,2,1,0],[1i32,3,3,1]] }
entry e (n: i64) =
  (loop (rows, cur) = (replicate n (replicate n 0), replicate n 0 with [0] = 1) for i < n do
     let rows = rows with [i] = copy cur
     in (rows, map (\j -> if j == 0 then 1 else cur[j] + cur[j-1]) (iota n))).0
