-- The determinant by expansion into minors along the first row; its gradient are the cofactors.
-- ==
-- entry: primal
-- input { [2.0, 0.0, 1.0, 1.0, 3.0, 2.0, 1.0, 1.0, 4.0] 3i64 } output { 18.0 }
-- input { [5.0] 1i64 } output { 5.0 }

-- ==
-- entry: gradient
-- input { [2.0, 0.0, 1.0, 1.0, 3.0, 2.0, 1.0, 1.0, 4.0] 3i64 }
-- output { [10.0, -2.0, -2.0, 1.0, 7.0, -2.0, -3.0, -3.0, 6.0] }

-- | The minor of the rows from `row` on and the columns of a set, a bit for each. What is needed of it again is computed again: a tape of
-- all minors would be larger than any memory.
def minor [n] (a: [n][n]f64) (row: i64) (columns: i64): f64 =
  let first set = i64.i32 (i64.ctz set)
  in if row == n - 1 then a[row, first columns]
     else (loop (sum, rest) = (0, columns) for i < n - row do
             let j = first rest
             let term = a[row, j] * #[recompute] minor a (row + 1) (columns ^ 1 << j)
             in (if i & 1 == 0 then sum + term else sum - term, rest & (rest - 1))).0

entry primal [l] (A: [l]f64) (ell: i64): f64 = minor (unflatten (A :> [ell * ell]f64)) 0 ((1 << ell) - 1)

entry gradient [l] (A: [l]f64) (ell: i64): [l]f64 = grad (\a -> primal a ell) A
