-- Sizes that are calls and divisions.

def mk (n: i64) (m: i64) : [n][m]i32 = tabulate_2d n m (\i j -> i32.i64 (i * m + j))

-- ==
-- entry: a
-- input { 2i64 3i64 } output { [[0i32,1,2],[3i32,4,5]] [0i32,1,2,3,4,5] }
entry a n m = let x = mk n m in (x, flatten x)
def opaque_size (x: i64) = i64.max 0 (x - 1)
def f (x: i64) : [opaque_size x]i64 = iota (opaque_size x)

-- ==
-- entry: b
-- input { 4i64 } output { [0i64,2,4] }
entry b x = map2 (+) (f x) (f x)
def lens [n] (xs: [n]i64) : [i64.sum xs]i64 = replicate (i64.sum xs) 1

-- ==
-- entry: c
-- input { [1i64,2] } output { [2i64,2,2] }
entry c xs = map2 (+) (lens xs) (lens xs)

-- ==
-- entry: d
-- input { 3i64 } output { [[0i64,1,2],[0i64,1,2]] }
entry d (n: i64) = let xs = iota n in [xs, iota (length xs)]

-- ==
-- entry: e
-- input { [1i32,2,3,4] } output { [[1i32,2],[3i32,4]] }
-- input { [1i32,2,3] } error: .
entry e [n] (xs: [n]i32) = unflatten (xs :> [2 * (n / 2)]i32)

-- ==
-- entry: g
-- input { [1i32,2,3,4] } output { [1i32,2] [3i32,4] }
entry g [n] (xs: [n]i32) = let h = n / 2 in (take h xs, drop h xs)

-- ==
-- entry: h
-- input { [[1i32,2],[3i32,4]] } output { [1i32,4] }
entry h [n] (xs: [n][n]i32) = map (\i -> xs[i,i]) (iota n)

-- ==
-- entry: i
-- input { [[1i32,2],[3i32,4]] } output { [1i32,4] }
-- input { [[1i32,2]] } error: .
entry i [n][m] (xs: [n][m]i32) = h (xs :> [n][n]i32)
