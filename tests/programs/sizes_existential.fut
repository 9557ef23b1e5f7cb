-- Results whose size only the value knows.

def evens [n] (xs: [n]i32) = filter (\x -> x % 2 == 0) xs
def comp f g x = f (g x)

-- ==
-- entry: a
-- input { [1i32,2,3,4] } output { [20i32,40] 2i64 6i32 }
entry a xs = let ys = evens xs in (map (* 10) ys, length ys, comp i32.sum evens xs)
def twice [n] 'a (f: (k: i64) -> [k]a -> ?[m].[m]a) (xs: [n]a) : ?[m].[m]a = let ys = f n xs in f (length ys) ys

-- ==
-- entry: b
-- input { [1i32,2,3,4] } output { [1i32,2] }
entry b xs = twice (\k (ys: [k]i32) -> ys[:k-1]) xs
def f (n: i64) : ?[k].[k]i64 = iota (n * n)

-- ==
-- entry: c
-- input { 3i64 } output { 9i64 36i64 }
entry c n = let [k] (xs: [k]i64) = f n in (k, i64.sum xs)

-- ==
-- entry: d
-- input { [3i32,1,2] } output { [1i32,2,3] }
entry d (xs: []i32) =
  (loop (done, todo) = ([], xs) while length todo > 0 do
    let m = i32.minimum todo
    in (done ++ filter (== m) todo, filter (!= m) todo)).0

-- ==
-- entry: e
-- input { [1i32,2,3] } output { [1i32,2,3,1,2,3] }
-- input { empty([0]i32) } output { [7i32] }
entry e (xs: []i32) = if length xs == 0 then [7] else xs ++ xs

-- ==
-- entry: g
-- input { 3i64 } output { [0i64,1,2,0,1,0] }
entry g n = (loop (acc, n) = ([], n) while n > 0 do (acc ++ iota n, n - 1)).0

-- ==
-- entry: h
-- input { [1i32,2,3,4] } output { [3i32,4] [1i32,2] [1i32] [4i32] [2i32,3] }
entry h xs = let (a, b) = partition (> 2) xs let (c, d, e) = partition2 (< 2) (> 3) xs in (a, b, c, d, e)

-- ==
-- entry: i
-- input { [1i64,0,3] } output { [0i64,0,1,2] }
entry i (ns: []i64) = loop acc = [] for n in ns do acc ++ iota n
