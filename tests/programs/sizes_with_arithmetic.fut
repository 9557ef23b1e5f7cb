-- Size expressions and odd sizes.

def append1 [n] 'a (xs: [n]a) (x: a) : [n+1]a = xs ++ [x]

-- ==
-- entry: a
-- input { [1,2] } output { [1,2,7] }
entry a (xs: []i32) = append1 xs 7
def outer [n][m] (xs: [n]i32) (ys: [m]i32) : [n*m]i32 = flatten (map (\x -> map (*x) ys) xs)

-- ==
-- entry: b
-- input { [1,2] [3,4] } output { [3,4,6,8] }
entry b (xs: []i32) (ys: []i32) = outer xs ys
def tl [n] 'a (xs: [n+1]a) : [n]a = xs[1:]

-- ==
-- entry: c
-- input { [1,2,3] } output { [2,3] }
entry c (xs: [3]i32) = tl xs

-- ==
-- entry: c2
-- input { [1,2,3] } output { [2,3] }
entry c2 [k] (xs: [k]i32) = tl (xs :> [(k-1)+1]i32)
def windows [n] (k: i64) (xs: [n]i32) : [n-k+1][k]i32 = tabulate (n-k+1) (\i -> xs[i:i+k] :> [k]i32)

-- ==
-- entry: d
-- input { 2i64 [1,2,3] } output { [[1,2],[2,3]] }
entry d (k: i64) (xs: []i32) = windows k xs
def halves [n] (xs: [2*n]i32) : ([n]i32, [n]i32) = (xs[:n], xs[n:] :> [n]i32)

-- ==
-- entry: e
-- input { [1,2,3,4] } output { [1,2] [3,4] }
entry e [m] (xs: [m]i32) = halves (xs :> [2*(m/2)]i32)
def dup [n] (xs: [n]i32) : [n+n]i32 = xs ++ xs

-- ==
-- entry: f
-- input { [1,2] } output { [1,2,1,2] [[1,2],[1,2]] }
entry f [n] (xs: [n]i32) = let d = dup xs in (d, unflatten (d :> [2*n]i32))
def from_len (xs: []i32) : [length xs]i32 = map (+1) xs

-- ==
-- entry: g
-- input { [1,2] } output { [2,3] }
entry g (xs: []i32) = from_len xs
def rep_sum [k] (ks: [k]i64) : [i64.sum ks]i32 = replicate (i64.sum ks) 1

-- ==
-- entry: h
-- input { [1i64,2] } output { [1,1,1] }
entry h (ks: []i64) = rep_sum ks

-- ==
-- entry: i
-- input { 3i64 } output { [[0i64,0,0],[0i64,1,2],[0i64,2,4]] }
entry i (n: i64) : [n][n]i64 = let f i = map (*i) (iota n) in map f (iota n)

-- ==
-- entry: j
-- input { [[1,2],[3,4]] } output { [[2,1],[4,3]] [[3,4],[1,2]] }
entry j (m: [][]i32) = (map reverse m, reverse m)

-- ==
-- entry: k
-- input { [1,2,3,4,5,6] } output { [[[1],[2]],[[3],[4]],[[5],[6]]] }
entry k (xs: [6]i32) = unflatten_3d (xs :> [3*2*1]i32)

-- ==
-- entry: l
-- input { 2i64 3i64 } output { [[1,1,1],[1,1,1]] }
entry l (n: i64) (m: i64) : [n][m]i32 = replicate n (replicate m 1)

-- ==
-- entry: m
-- input { [5,3,1] } output { [1,3,5] }
entry m [n] (xs: [n]i32) =
  loop xs = copy xs for i < n do
    loop xs for j < n - 1 do
      if xs[j] > xs[j+1] then let t = xs[j] let xs[j] = xs[j+1] let xs[j+1] = t in xs else xs

-- ==
-- entry: n
-- input { [1,2,3,4,5] } output { [2,4] }
entry n (xs: []i32) = loop ys = [] for x in xs do if x % 2 == 0 then ys ++ [x] else ys

-- ==
-- entry: o
-- input { 5i64 } output { [1,2,4,8,16] }
entry o (n: i64) = (loop (xs, y) = ([], 1) for _i < n do (xs ++ [y], y * 2)).0

-- ==
-- entry: p
-- input { [[1,2],[3,4]] [[0,1],[1,0]] } output { [[2,1],[4,3]] }
entry p [n] (a: [n][n]i32) (b: [n][n]i32) = map (\row -> map (\col -> reduce (+) 0 (map2 (*) row col)) (transpose b)) a

-- ==
-- entry: q
-- input { [3,1,2] } output { [2i64,3,1] }
entry q [n] (xs: [n]i32) = map (\x -> i64.sum (map (\y -> i64.bool (y < x)) xs)) xs |> map (+1) |> rotate 0 |> reverse |> reverse |> (\r -> [r[2], r[0], r[1]])
type~ irr = {xs: []i32}

-- ==
-- entry: r
-- input { 3i64 } output { 3 }
entry r (n: i64) = let v : irr = {xs = map i32.i64 (iota n)} in i32.sum v.xs
def curried [n] : [n]i32 -> [n]i32 = map (+1)

-- ==
-- entry: s
-- input { [1] } output { [2] }
entry s (xs: []i32) = curried xs

-- ==
-- entry: t
-- input { true } output { [1] }
-- input { false } output { [1,2] }
entry t (b: bool) = if b then [1] else [1,2i32]

-- ==
-- entry: u
-- input { [[1,2,3],[4,5,6]] } output { [[1,4],[2,5],[3,6]] 2i64 3i64 }
entry u [n][m] (x: [n][m]i32) : ([m][n]i32, i64, i64) = (transpose x, n, m)
