-- Matrices that are made row by row and wanted column by column. Expected values: sums of what closed forms give.
-- ==
-- entry: turned_correctly
-- input { 0i64 5i64 } output { true }
-- input { 5i64 0i64 } output { true }
-- input { 1i64 1i64 } output { true }
-- input { 7i64 13i64 } output { true }
-- input { 8i64 300i64 } output { true }
-- input { 9i64 255i64 } output { true }
-- input { 50i64 1031i64 } output { true }
-- input { 1000i64 3i64 } output { true }

-- ==
-- entry: jacobian
-- input { [1.0, 2.0, 3.0] [1.0, 10.0] } output { [[2.0, 4.0, 6.0], [20.0, 40.0, 60.0]] }

-- ==
-- entry: jacobians_are_equal
-- input { 1i64 4i64 } output { true }
-- input { 13i64 9i64 } output { true }
-- input { 9i64 30i64 } output { true }

-- ==
-- entry: both
-- input { 9i64 400i64 } output { true }

-- ==
-- entry: in_steps
-- input { 20i64 300i64 4i64 } output { true }

-- ==
-- entry: failing
-- input { 30i64 300i64 29i64 } output { true }
-- input { 30i64 300i64 11i64 } error: out of bounds

def prefixes (n: i64) (i: i64): [n]i64 = scan (+) 0 (map (\j -> j ^ i) (iota n))

def rows (m: i64) (n: i64): [m][n]i64 = map (prefixes n) (iota m)

def equal [m][n] (a: [m][n]i64) (f: i64 -> i64 -> i64): bool =
  and (map2 (\i row -> and (map2 (\j x -> x == f i j) (iota n) row)) (iota m) a)

entry turned_correctly (m: i64) (n: i64): bool =
  let turned = copy (transpose (rows m n))
  in equal turned (\j i -> (prefixes n i)[j])

-- Output k is w[k] times the sum of the squares.
def scaled_squares [p][m] (w: [m]f64) (x: [p]f64): [m]f64 = map (* (f64.sum (map (\a -> a * a) x))) w

entry jacobian [p][m] (x: [p]f64) (w: [m]f64): [m][p]f64 = jacfwd (scaled_squares w) x

def mixed [p] (m: i64) (x: [p]f64): [m]f64 =
  let turns = map (\a -> (f64.sin a, f64.cos a)) x
  in tabulate m (\k -> f64.sum (map2 (\(s, c) a -> s * c * f64.i64 (1 + k % 7) + a * f64.cos (f64.i64 k)) turns x))

entry jacobians_are_equal (p: i64) (m: i64): bool =
  let x = tabulate p (\i -> f64.sin (f64.i64 i))
  let (forward, reverse) = (jacfwd (mixed m) x, jacrev (mixed m) x)
  in and (map2 (\a b -> f64.abs (a - b) < 1e-9) (flatten forward) (flatten reverse))

-- The rows are read elsewhere, too.
entry both (m: i64) (n: i64): bool =
  let made = rows m n
  let turned = copy (transpose made)
  in i64.sum (flatten made) == i64.sum (flatten turned) && equal turned (\j i -> (prefixes n i)[j])

-- In every step a new matrix is made and turned, or read where it is.
def steps_of (m: i64) (n: i64) (steps: i64) (turn: [m][n]i64 -> [n][m]i64): [n][m]i64 =
  loop turned = replicate n (replicate m 1) for t < steps do
    turn (map (\i -> scan (+) t (map (\j -> i * j + turned[j, i]) (iota n))) (iota m))

entry in_steps (m: i64) (n: i64) (steps: i64): bool =
  let turned = steps_of m n steps (\made -> copy (transpose made))
  let read = steps_of m n steps (\made -> tabulate_2d n m (\j i -> made[i, j] + made[0, 0] - made[0, 0]))
  in and (map2 (==) (flatten turned) (flatten read))

entry failing (m: i64) (n: i64) (last: i64): bool =
  let made = map (\i -> scan (+) 0 (map (\j -> j + (iota (last + 1))[i]) (iota n))) (iota m)
  let turned = copy (transpose made)
  in turned[n - 1, m - 1] > 0
