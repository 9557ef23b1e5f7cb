-- The determinant by expansion into minors along the first row; its gradient are the cofactors.
-- ==
-- entry: primal
-- input { [2.0, 0.0, 1.0, 1.0, 3.0, 2.0, 1.0, 1.0, 4.0] 3i64 } output { 18.0 }
-- input { [5.0] 1i64 } output { 5.0 }
-- input { [1.0, 2.0, 3.0, 4.0] 2i64 } output { -2.0 }
-- input { [2.0, 0.0, 1.0, 3.0, 1.0, 3.0, 2.0, -1.0, 1.0, 1.0, 4.0, 0.5, 0.0, 2.0, -1.0, 1.0] 4i64 } output { 46.0 }

-- ==
-- entry: gradient
-- input { [2.0, 0.0, 1.0, 1.0, 3.0, 2.0, 1.0, 1.0, 4.0] 3i64 }
-- output { [10.0, -2.0, -2.0, 1.0, 7.0, -2.0, -3.0, -3.0, 6.0] }
-- input { [1.0, 2.0, 3.0, 4.0] 2i64 } output { [4.0, -3.0, -2.0, 1.0] }
-- input { [2.0, 0.0, 1.0, 3.0, 1.0, 3.0, 2.0, -1.0, 1.0, 1.0, 4.0, 0.5, 0.0, 2.0, -1.0, 1.0] 4i64 }
-- output { [22.5, -3.5, -5.0, 2.0, 27.0, 5.0, -6.0, -16.0, -26.0, 2.0, 16.0, 12.0, -27.5, 14.5, 1.0, 18.0] }

-- | The minor of the rows from `row` on and the columns of a set, a bit for each. What is needed of it again is computed again: a tape of
-- all minors would be larger than any memory.
def minor [n] (a: [n][n]f64) (row: i64) (columns: i64): f64 =
  let first set = i64.i32 (i64.ctz set)
  let others set = set & (set - 1)
  let of_two row j k = a[row, j] * a[row + 1, k] - a[row, k] * a[row + 1, j]
  in if row == n - 1 then a[row, first columns]
     else if row == n - 2 then of_two row (first columns) (first (others columns))
     else if row == n - 3
     then let (i, j, k) = (first columns, first (others columns), first (others (others columns)))
          in a[row, i] * of_two (row + 1) j k - a[row, j] * of_two (row + 1) i k + a[row, k] * of_two (row + 1) i j
     else (loop (sum, rest) = (0, columns) for i < n - row do
             let j = first rest
             let term = a[row, j] * #[recompute] minor a (row + 1) (columns ^ 1 << j)
             in (if i & 1 == 0 then sum + term else sum - term, others rest)).0

entry primal [l] (A: [l]f64) (ell: i64): f64 = minor (unflatten (A :> [ell * ell]f64)) 0 ((1 << ell) - 1)

entry gradient [l] (A: [l]f64) (ell: i64): [l]f64 = grad (\a -> primal a ell) A
