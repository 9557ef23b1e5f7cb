-- Rows of a matrix by numbers in a list that is not needed afterwards.
-- ==
-- entry: chosen
-- input { [3i64, 1, 2, 0] } output { [[3i64, 1, 2, 0], [3i64, 1, 2, 0], [3i64, 1, 2, 0], [3i64, 1, 2, 0]] }

-- ==
-- entry: sorted
-- input { [[1i64, 2], [3i64, 4], [5i64, 6]] [2i64, 1, 0] } output { [[5i64, 6], [3i64, 4], [1i64, 2]] }

entry chosen [n] (p: [n]i64): [][n]i64 = filter (\_ -> true) (replicate n p)

entry sorted [n][m] (rows: [n][m]i64) (order: [n]i64): [n][m]i64 =
  let numbers = scan (+) 0 order
  let numbers = map2 (\i at -> if i == 0 then at else at - numbers[i - 1]) (iota n) numbers
  in map (\at -> rows[at]) numbers
