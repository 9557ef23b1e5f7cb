-- The determinant by expansion into minors along the first row; its gradient are the cofactors.
-- ==
-- entry: primal
-- input { [2.0, 0.0, 1.0, 1.0, 3.0, 2.0, 1.0, 1.0, 4.0] 3i64 } output { 18.0 }
-- input { [5.0] 1i64 } output { 5.0 }

-- ==
-- entry: gradient
-- input { [2.0, 0.0, 1.0, 1.0, 3.0, 2.0, 1.0, 1.0, 4.0] 3i64 }
-- output { [10.0, -2.0, -2.0, 1.0, 7.0, -2.0, -3.0, -3.0, 6.0] }

-- | The minor of the rows from `row` on and the columns that are not `used`.
def minor [n] (a: [n][n]f64) (row: i64) (used: i64): f64 =
  if row == n then 1
  else (loop (sum, sign) = (0, 1) for j < n do
          if used >> j & 1 == 1 then (sum, sign)
          else (sum + sign * a[row, j] * minor a (row + 1) (used | 1 << j), -sign)).0

entry primal [l] (A: [l]f64) (ell: i64): f64 = minor (unflatten (A :> [ell * ell]f64)) 0 0

entry gradient [l] (A: [l]f64) (ell: i64): [l]f64 = grad (\a -> primal a ell) A
