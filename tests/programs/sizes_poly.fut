-- Size arithmetic in signatures.

def matmul [n][m][p] (a: [n][m]i32) (b: [m][p]i32) : [n][p]i32 = map (\r -> map (\c -> i32.sum (map2 (*) r c)) (transpose b)) a
def mulT a = matmul a

-- ==
-- entry: a
-- input { [[1i32,2],[3i32,4]] } output { [[7i32,10],[15i32,22]] }
entry a (x: [][]i32) = x |> matmul (copy x :> [2][2]i32) 
def pad 'a [n] (k: i64) (z: a) (xs: [n]a) : [n+k]a = xs ++ replicate k z

-- ==
-- entry: b
-- input { [1i32] } output { [1i32,0,0] 3i64 }
entry b xs = let ys = pad 2 0i32 xs in (ys, length ys)
def chunks 'a [n][m] (xs: [n*m]a) : [n][m]a = unflatten xs

-- ==
-- entry: c
-- input { [1i32,2,3,4,5,6] } output { [[1i32,2,3],[4i32,5,6]] }
-- input { [1i32,2,3] } error: .
entry c (xs: []i32) : [2][3]i32 = chunks (xs :> [2*3]i32)
def windows 'a [n] (k: i64) (xs: [n]a) : [n-k+1][k]a = tabulate (n-k+1) (\i -> xs[i:i+k] :> [k]a)

-- ==
-- entry: d
-- input { [1i32,2,3] } output { [[1i32,2],[2i32,3]] }
entry d (xs: []i32) = windows 2 xs
def outer 'a 'b 'c f (xs: []a) (ys: []b) : [][]c = map (\x -> map (f x) ys) xs

-- ==
-- entry: e
-- input { [1i32,2] [10i32,20] } output { [[11i32,21],[12i32,22]] }
entry e = outer (i32.+)
def apply [n] 'a 'b (f: (k: i64) -> [k]a -> b) (xs: [n]a) = f n xs

-- ==
-- entry: f
-- input { [1i64,2] } output { 5i64 }
entry f (xs: []i64) = apply (\k (ys: [k]i64) -> k + i64.sum ys) xs

-- ==
-- entry: g
-- input { [1i64,2,3] } output { [[1i64],[2i64],[3i64]] }
entry g xs = unflatten xs : [3][1]i64
