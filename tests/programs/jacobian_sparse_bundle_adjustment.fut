-- The Jacobian that `gradbench/ba.fut` puts together by hand, and that of its residuals as one function of all parameters. By hand every
-- observation has the 15 parameters of its camera, its point and its weight; the coordinates of the principal point matter for one
-- row each, so the pattern has 14.
-- ==
-- entry: agrees
-- input { 2i64 3i64 7i64 } output { true 203i64 }
-- input { 5i64 40i64 100i64 } output { true 2900i64 }
-- input { 0i64 0i64 0i64 } output { true 0i64 }

-- The sum of all entries, which is also there to be timed: `n` cameras, `m` points, `p` observations.
-- ==
-- entry: total total_by_hand
-- input { 10i64 1000i64 4000i64 } output { -220.18515145085803 }

module ba = import "../../gradbench/ba"

def number (i: i64): f64 = f64.sin (f64.i64 (7 * i + 3)) / 4

-- | Cameras that look at points in front of them, at observations that name both in no order.
def problem (n: i64) (m: i64) (p: i64) =
  let cams = tabulate_2d n 11 (\i j -> number (11 * i + j))
  let xs = tabulate_2d m 3 (\i j -> number (5 * i + j) + if j == 2 then 6 else 0)
  let ws = tabulate p (\i -> 1 + number i)
  let feats = tabulate_2d p 2 (\i j -> number (3 * i + j))
  in (cams, xs, ws, feats, tabulate p (\i -> i * 13 % n), tabulate p (\i -> i * 31 % m))

-- | All residuals as a function of all parameters, in the order of the columns and rows of the matrix by hand.
def residuals [n][m][p] (feats: [p][2]f64) (cam_of: [p]i64) (x_of: [p]i64) (all: [11 * n + 3 * m + p]f64): [2 * p + p]f64 =
  let cams = unflatten (all[:11 * n] :> [n * 11]f64)
  let xs = unflatten (all[11 * n:11 * n + 3 * m] :> [m * 3]f64)
  let ws = all[11 * n + 3 * m:] :> [p]f64
  let errors = ba.objective cams xs ws feats cam_of x_of
  in (flatten errors.reproj_error :> [2 * p]f64) ++ errors.w_err

def sparse [n][m][p] (cams: [n][11]f64, xs: [m][3]f64, ws: [p]f64, feats: [p][2]f64, cam_of: [p]i64, x_of: [p]i64) =
  let all = flatten cams ++ flatten xs ++ ws :> [11 * n + 3 * m + p]f64
  in jacobian_sparse (residuals feats cam_of x_of : [11 * n + 3 * m + p]f64 -> [2 * p + p]f64) all

entry agrees (n: i64) (m: i64) (p: i64): (bool, i64) =
  let at = problem n m p
  let (offsets, columns, values) = sparse at
  let by_hand = ba.jacobian at.0 at.1 at.2 at.3 at.4 at.5
  let row i =
    -- Both have ascending columns: what is only by hand is zero.
    let (same, e) =
      loop (same, e) = (true, offsets[i]) for h in by_hand.rows[i]..<by_hand.rows[i + 1] do
        if e < offsets[i + 1] && columns[e] == by_hand.cols[h]
        then (same && f64.abs (values[e] - by_hand.vals[h]) <= 1e-9 * f64.max 1 (f64.abs values[e]), e + 1)
        else (same && by_hand.vals[h] == 0, e)
    in same && e == offsets[i + 1]
  in (all row (iota (3 * p)), length values)

entry total (n: i64) (m: i64) (p: i64): f64 = f64.sum (sparse (problem n m p)).2

entry total_by_hand (n: i64) (m: i64) (p: i64): f64 =
  let at = problem n m p
  in f64.sum (ba.jacobian at.0 at.1 at.2 at.3 at.4 at.5).vals
