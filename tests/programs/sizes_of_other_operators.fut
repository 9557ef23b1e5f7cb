-- Sizes with operators other than + - *: equal where their arguments are, and found from them where nothing else tells.
-- ==
-- entry: found
-- input { 4i64 [1i64, 2i64, 3i64, 4i64, 5i64] } output { 6i64 10i64 }
-- input { 2i64 [7i64, 2i64] } output { 9i64 11i64 }

-- ==
-- entry: both
-- input { [1i64, 2i64, 3i64, 4i64] } output { [2i64, 4i64] }

-- ==
-- entry: told_by_another
-- input { [1i64, 2i64, 3i64, 4i64, 5i64] [3i64, 4i64, 5i64, 6i64] } output { 4i64 }
-- input { [1i64, 2i64, 3i64, 4i64, 5i64] [3i64, 4i64] } error: size mismatch

def first_half [n] (xs: [n]i64): [n / 2]i64 = take (n / 2) xs
def size_of_whole [n] (xs: [n / 2]i64): i64 = xs[0] + n
def size_of_two [n][m] (xs: [(n + 1) / 2][m % 3]i64): i64 = xs[0, 0] + n + m
def add [n] (xs: [n / 2]i64) (ys: [n / 2]i64): [n / 2]i64 = map2 (+) xs ys
def with_whole [n] (xs: [n / 2]i64) (ys: [n]i64): i64 = xs[0] + ys[0]

entry found [k] (l: i64) (xs: [k]i64) =
  let rows: [(k + 1) / 2][l % 3]i64 = tabulate_2d ((k + 1) / 2) (l % 3) (\i _ -> xs[i])
  in (size_of_whole (first_half xs), size_of_two rows)

entry both [k] (xs: [k]i64) = add (first_half xs) (first_half xs)
entry told_by_another (xs: []i64) (ys: []i64) = with_whole (first_half xs) ys
