-- Paths of several steps: an element of an element, a part of a part, fields of elements that hold arrays.
-- ==
-- entry: element
-- input { [[1i64, 2i64], [3i64, 4i64]] } output { [[1i64, 2i64], [7i64, 4i64]] }

-- ==
-- entry: by_let
-- input { [[1i64, 2i64], [3i64, 4i64]] } output { [[1i64, 2i64], [7i64, 4i64]] }

-- ==
-- entry: range_of_a_row
-- input { [[1i64, 2i64, 3i64], [4i64, 5i64, 6i64]] } output { [[1i64, 8i64, 9i64], [4i64, 5i64, 6i64]] }

-- ==
-- entry: element_of_a_range
-- input { [1i64, 2i64, 3i64] } output { [1i64, 2i64, 9i64] }

-- ==
-- entry: field
-- input { 5i64 } output { 4i64 [1i64, 2i64] }

-- ==
-- entry: element_of_a_field
-- input { 5i64 } output { 5i64 [1i64, 4i64] }

entry element (a: *[][]i64) = a with [1][0] = 7
entry by_let [n][m] (a: *[n][m]i64): [n][m]i64 = let a[1][0] = 7 in a
entry range_of_a_row [n][m] (a: *[n][m]i64): [n][m]i64 = let a[0][1:3] = [8, 9] in a
entry element_of_a_range (a: *[3]i64): [3]i64 = let a[1:][1] = 9 in a
entry field (x: i64) = let r = [{p = [1i64, 2], q = x}] let s = r with [0].q = 4 in (s[0].q, s[0].p)
entry element_of_a_field (x: i64) = let r = [{p = [1i64, 2], q = x}] let s = r with [0].p[1] = 4 in (s[0].q, s[0].p)
