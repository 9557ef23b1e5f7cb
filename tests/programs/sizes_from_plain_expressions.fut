-- Sizes that are given by expressions other than polynomials: they are the same wherever the expression is.
-- ==
-- entry: halves
-- input { 4i64 } output { [[0i64, 1i64], [0i64, 1i64]] }

-- ==
-- entry: many
-- input { 3i64 2i32 } output { 2i64 3i64 8i64 8i64 1i64 4i64 }

-- ==
-- entry: by_function
-- input { 5i64 } output { [[0i64, 0i64], [1i64, 1i64]] [[0i64, 0i64, 0i64], [1i64, 1i64, 1i64]] }

-- ==
-- entry: pooled
-- input { [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]] } output { [[1.0, 3.0], [5.0, 7.0]] [[1.0, 2.0], [5.0, 6.0]] [[1.0, 2.0], [5.0, 6.0]] }

-- ==
-- entry: chunks
-- input { 2i64 [1i32, 2i32, 3i32, 4i32, 5i32] } output { [[1i32, 2i32], [3i32, 4i32]] }

-- ==
-- entry: bound_inside
-- input { 5i64 } output { [[0i64, 1i64], [1i64, 2i64]] }

entry halves (n: i64) = map (\_ -> iota (n / 2)) (iota 2)

entry many (n: i64) (k: i32) =
  let rows 'a [m] (x: [2][m]a): i64 = length x[0]
  let p = {n, k}
  in (rows (map (\i -> replicate (i64.i32 k) i) (iota 2)),
      rows (map (\i -> replicate (i64.max n 2) i) (iota 2)),
      rows (map (\_ -> iota (1 << n)) (iota 2)),
      rows (map (\_ -> tabulate (2 ** n) (\j -> j)) (iota 2)),
      rows (map (\_ -> iota (n % 2)) (iota 2)),
      rows (map (\i -> replicate (p.n + n // 2) i) (iota 2)))

def some (n: i64) (i: i64) = replicate (n / 2) i
def half_up (n: i64): i64 = (n + 1) / 2

entry by_function (n: i64) = (map (some n) (iota 2), map (\i -> replicate (half_up n) i) (iota 2))

entry pooled [n][m] (xs: [n][m]f64) =
  (map (\x -> tabulate (m / 2) (\i -> x[2 * i])) xs, map (\x -> take (m / 2) x) xs, map (\x -> x[:m / 2]) xs)

def chunk [n] 'a (k: i64) (xs: [n]a): [][k]a = unflatten (take (n / k * k) xs)

entry chunks (k: i64) (xs: []i32) = chunk k xs

entry bound_inside (n: i64) =
  map (\i -> let h = n / 2 in map (+ i) (iota h)) (iota 2)
