-- Branches of different sizes.

def pick [n][m] (b: bool) (xs: [n]i32) (ys: [m]i32) = if b then xs else ys

-- ==
-- entry: a
-- input { true [1i32] [2i32,3] } output { [1i32] 1i64 }
-- input { false [1i32] [2i32,3] } output { [2i32,3] 2i64 }
entry a b (xs: []i32) (ys: []i32) = let z = pick b xs ys in (z, length z)

-- ==
-- entry: b
-- input { 2i32 } output { [[7i32,7]] }
entry b (x: i32) = match x case 1 -> [[1i32]] case 2 -> [[7,7]] case _ -> []

-- ==
-- entry: c
-- input { 2i32 } output { [0i64,1,2,3] [true,true] }
entry c (x: i32) = let (a, b) = if x > 1 then (iota 4, [true, true]) else (iota 3, [false]) in (a, b)

-- ==
-- entry: d
-- input { [1i32,2,3,4] } output { [2i32,4] }
entry d [n] (xs: [n]i32) = let (is, _) = unzip (filter (\(i, _) -> i % 2 == 1) (zip (iota n) xs)) in map (\i -> xs[i]) is
type opt 'a = #some a | #none
def mapo 'a 'b (f: a -> b) (x: opt a) : opt b = match x case #some v -> #some (f v) case #none -> #none

-- ==
-- entry: e
-- input {} output { [2i32,3] 0i64 }
entry e = let o : opt ([2]i32) = #some [1,2] in match mapo (map (+ 1)) o case #some xs -> (xs, 0i64) case #none -> ([0,0], 1)
