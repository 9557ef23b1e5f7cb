-- Sparse Jacobians of more inputs than a set has members.
-- ==
-- entry: random_agree
-- input { 5i64 8i64 2i64 1i64 } output { true }
-- input { 70i64 40i64 3i64 2i64 } output { true }
-- input { 200i64 90i64 4i64 3i64 } output { true }
-- input { 64i64 300i64 5i64 4i64 } output { true }
-- input { 700i64 900i64 3i64 5i64 } output { true }

-- Blocks of blocks: 3482 inputs are one more than 59 times 59.
-- ==
-- entry: far_apart
-- input { 3482i64 } output { [0i64, 2i64, 4i64, 6i64] [0i64, 3481i64, 58i64, 59i64, 3480i64, 3481i64] [3481.0, 0.0, 59.0, 58.0, 1.0, -1.0] }

-- A row of everything beside a diagonal has as many colours of columns as columns, but two of rows; and the other way round.
-- ==
-- entry: dense_row dense_column
-- input { 130i64 } output { true 259i64 }

open import "jacobian_sparse"

entry random_agree (n: i64) (m: i64) (k: i64) (seed: i64): bool =
  let number i = (i * 2862933555777941757 + seed * 3037000493) % 1000003
  let x = tabulate n (\i -> f64.i64 (number i) / 1000003 + 0.5)
  let columns = tabulate_2d m k (\i j -> number (i * k + j + 17) % n)
  let f (y: [n]f64) = map (\row -> f64.product (map (\j -> y[j]) (take (1 + row[0] % k) row))) columns
  in agrees f x

entry far_apart (n: i64) =
  let x = map f64.i64 (iota n)
  in jacobian_sparse (\y -> [y[0] * y[n - 1], y[58] * y[59], y[n - 2] - y[n - 1]]) x

entry dense_row (n: i64): (bool, i64) =
  let x = tabulate n (\i -> 1 + f64.i64 i / 100)
  let f y = [f64.sum y] ++ map (\i -> y[i] * y[i]) (1..<n)
  in (agrees f x, length (jacobian_sparse f x).1)

entry dense_column (n: i64): (bool, i64) =
  let x = tabulate n (\i -> 1 + f64.i64 i / 100)
  let f y = map (\i -> if i == 0 then y[0] else y[0] * y[i]) (iota n)
  in (agrees f x, length (jacobian_sparse f x).1)
