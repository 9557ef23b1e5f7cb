-- Strides, rotations and ranges whose sums do not fit an i64.
-- ==
-- entry: rotated
-- input { 9223372036854775807i64 [1i64, 2i64, 3i64] } output { [2i64, 3i64, 1i64] }
-- input { 9223372036854775806i64 [1i64, 2i64, 3i64, 4i64, 5i64] } output { [2i64, 3i64, 4i64, 5i64, 1i64] }
-- input { -9223372036854775808i64 [1i64, 2i64, 3i64] } output { [2i64, 3i64, 1i64] }
-- input { 9223372036854775807i64 empty([0]i64) } output { empty([0]i64) }

-- ==
-- entry: strided
-- input { [1i64, 2i64, 3i64] 9223372036854775807i64 } output { [1i64] }
-- input { [1i64, 2i64, 3i64] -9223372036854775808i64 } output { [3i64] }
-- input { [1i64, 2i64, 3i64] 2i64 } output { [1i64, 3i64] }
-- input { empty([0]i64) 9223372036854775807i64 } output { empty([0]i64) }

-- ==
-- entry: by_a_literal
-- input { [1i64, 2i64, 3i64] } output { [1i64] }

-- ==
-- entry: changed
-- input { [1i64, 2i64, 3i64] 9223372036854775807i64 } output { [9i64, 2i64, 3i64] }

-- ==
-- entry: count
-- input { -9223372036854775808i64 9223372036854775807i64 } error: too long
-- input { -2i64 9223372036854775807i64 } error: too long
-- input { -2i64 2i64 } output { 5i64 }

-- ==
-- entry: count_by_steps
-- input { -9223372036854775808i64 -4611686018427387904i64 9223372036854775807i64 } error: too long
-- input { 10i64 8i64 1i64 } output { 5i64 }

entry rotated (r: i64) (xs: []i64) = rotate r xs
entry strided (xs: []i64) (s: i64) = xs[::s]
entry by_a_literal (xs: []i64) = xs[::9223372036854775807]
entry changed (xs: *[]i64) (s: i64) = xs with [0:2:s] = [9]
entry count (a: i64) (b: i64) = length (a...b)
entry count_by_steps (a: i64) (b: i64) (c: i64) = length (a..b...c)
