-- Empty arrays of every kind keep their shape.

-- ==
-- entry: a
-- input { empty([0]i32) } output { empty([0]i32) 0i32 empty([0]i32) empty([0]i64) }
entry a (xs: []i32) = (map (+ 1) xs, i32.sum xs, scan (+) 0 xs, indices xs)

-- ==
-- entry: b
-- input { empty([0][3]i32) } output { empty([3][0]i32) empty([0]i32) 0i64 empty([0]i32) }
entry b [n][m] (xs: [n][m]i32) = (transpose xs, flatten xs, n * m, map i32.sum xs)

-- ==
-- entry: c
-- input { 0i64 3i64 } output { empty([0][3]i64) empty([3][0]i64) }
entry c n m = (map (\_ -> iota m) (iota n), map (\_ -> iota n) (iota m))

-- ==
-- entry: d
-- input { empty([0]i32) } output { empty([0]i32) empty([0]i32) empty([0]i32) true false }
entry d (xs: []i32) = let (a, b) = partition (> 0) xs in (a, b, filter (> 0) xs, and (map (> 0) xs), or (map (>0) xs))

-- ==
-- entry: e
-- input { 2i64 } output { empty([0][2]i32) empty([0][2][5]bool) }
entry e (n: i64) = ([] : [0][n]i32, replicate 0 (replicate n (replicate 5 true)))

-- ==
-- entry: f
-- input { empty([0]i64) empty([0]i32) } output { [1i32,1] [1i32,1] }
entry f (is: []i64) (vs: []i32) = let n = length is in (scatter [1i32,1] (is :> [n]i64) (vs :> [n]i32), reduce_by_index [1i32,1] (+) 0 (is :> [n]i64) (vs :> [n]i32))

-- ==
-- entry: g
-- input {} output { empty([0]u8) 0i64 }
entry g = ("", length "")

-- ==
-- entry: h
-- input { empty([0][2]i32) } output { empty([0]i32) empty([2][0]i32) [0i32,0] }
entry h [n] (xs: [n][2]i32) = (xs[:,0], transpose xs, reduce (map2 (+)) [0,0] xs)

-- ==
-- entry: i
-- input { 0i64 } output { empty([0][4]i64) }
entry i n = tabulate_2d n 4 (\i j -> i * j)

-- ==
-- entry: j
-- input {} output { 3i64 }
def len [n] (_: [n]()) = n
entry j = len (replicate 3 ())
def carry [n] (_: [0][n]()) = n

-- ==
-- entry: k
-- input { 7i64 } output { 7i64 }
entry k (n: i64) = carry ([] : [0][n]())
