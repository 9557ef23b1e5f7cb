-- Sizes that patterns of `case` and loops state are compared with what comes; sizes that a loop names can be asked for in its condition.
-- Expected values: by hand.
-- ==
-- entry: in_case
-- input { [1, 2, 3] } output { 3i64 }
-- input { [1, -2, 3] } error: size mismatch

-- ==
-- entry: in_nested_case
-- input { true [1, 2, 3] } output { 3i64 }
-- input { false [1, 2] } output { 0i64 }
-- input { true [1, 2] } error: size mismatch

-- ==
-- entry: in_for
-- input { 2i64 [[1, 2], [3, 4]] } output { 4i64 }
-- input { 3i64 [[1, 2], [3, 4]] } error: size mismatch

-- ==
-- entry: initial
-- input { 3i64 0 [1, 2, 3] } output { [1, 2, 3] }
-- input { 7i64 0 [1, 2, 3] } error: size mismatch
-- input { 7i64 2 [1, 2, 3] } error: size mismatch

-- ==
-- entry: next
-- input { 2i64 3 [1, 2] } output { [1, 2] }
-- input { 3i64 0 [1, 2] } output { [1, 2] }
-- input { 3i64 1 [1, 2] } error: size mismatch

-- ==
-- entry: in_condition
-- input { [1, 2, 3] } output { [3] }
-- input { [7] } output { [7] }

-- ==
-- entry: in_body
-- input { [1, 2, 3] } output { [3i64, 6i64] [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3] }

-- ==
-- entry: two_of_one_size
-- input { [1, 2] [3, 4] } output { [1, 2, 1, 2] [3, 4, 3, 4] }
-- input { [1, 2] [3, 4, 5] } error: size mismatch

-- ==
-- entry: pairs
-- input { [1.0, 2.0] [3, 4] } output { [4.0, 6.0] }
-- input { [1.0] [1, 2, 3] } error: of pairs has the wrong size
-- input { [1.0, 2.0, 3.0] [1] } error: of pairs has the wrong size

-- ==
-- entry: first_of_pairs
-- input { [1.0, 2.0, 3.0] [1, 1, 1] } output { [1.0, 2.0, 3.0] }
-- input { [1.0, 2.0, 3.0] [1] } error: of first_of_pairs has the wrong size

entry in_case (xs: []i32) = match filter (> 0) xs case (ys: [3]i32) -> length ys

entry in_nested_case (some: bool) (xs: []i32) =
  let found: #some ([]i32) | #none = if some then #some xs else #none
  in match found
  case #some (ys: [3]i32) -> length ys
  case #none -> 0

entry in_for (n: i64) (xss: [][]i32) = loop s = 0 for (xs: [n]i32) in xss do s + length xs

entry initial (n: i64) (steps: i32) (xs: []i32) = loop (ys: [n]i32) = xs for _i < steps do ys

entry next [n] (m: i64) (steps: i32) (xs: [n]i32) = loop (ys: [n]i32) = xs for _i < steps do take m (ys ++ ys)

entry in_condition [n] (xs: [n]i32) = loop [k] (ys: [k]i32) = xs while k > 1 do ys[1:]

entry in_body [n] (xs: [n]i32) =
  loop [k] (sizes, ys: [k]i32) = ([], xs) for _i < 2i32 do (sizes ++ [k], ys ++ ys)

entry two_of_one_size (xs: []i32) (ys: []i32) = loop [k] (xs: [k]i32, ys: [k]i32) = (xs, ys) for _i < 1i32 do (xs ++ xs, ys ++ ys)

entry pairs [n] (ps: [n](f64, i32)) = map (\(x, y) -> x + f64.i32 y) ps

entry first_of_pairs [n] (ps: [n](f64, i32)) = map (.0) ps
