-- Steps that multiply by a transposed matrix, and by the matrix: their derivatives are transposed, too.
-- ==
-- entry: agree
-- input { 5i64 20i64 } output { true true }
-- input { 1i64 1i64 } output { true true }
-- input { 3i64 0i64 } output { true true }

def by_columns [t][h] (xs: [t][h]f64) (w: [h][h]f64): f64 =
  f64.sum (loop s = replicate h 0.5 for x in xs do
    map2 (\c xi -> f64.tanh (xi + f64.sum (map2 (*) s c))) (transpose w) x)

def by_index [t][h] (xs: [t][h]f64) (w: [h][h]f64): f64 =
  f64.sum (loop s = replicate h 0.5 for x in xs do
    tabulate h (\j -> f64.tanh (x[j] + f64.sum (tabulate h (\k -> s[k] * w[k, j])))))

def by_rows [t][h] (xs: [t][h]f64) (w: [h][h]f64): f64 =
  f64.sum (loop s = replicate h 0.5 for x in xs do
    map2 (\r xi -> f64.tanh (xi + f64.sum (map2 (*) s r))) w x)

def same [n][m] (a: [n][m]f64) (b: [n][m]f64): bool =
  all id (flatten (map2 (map2 (\x y -> f64.abs (x - y) <= 1e-12)) a b))

entry agree (t: i64) (h: i64): (bool, bool) =
  let xs = tabulate_2d t h (\i j -> f64.sin (f64.i64 (3 * i + j)))
  let w = tabulate_2d h h (\i j -> f64.cos (f64.i64 (5 * i + 2 * j)) / 4)
  let (xs_ct, w_ct) = grad (\(xs, w) -> by_rows xs w) (xs, w)
  let agrees (f: [t][h]f64 -> [h][h]f64 -> f64) =
    let (p, q) = grad (\(xs, w) -> f xs w) (xs, transpose w)
    in same p xs_ct && same (transpose q) w_ct
  in (agrees by_columns, agrees by_index)
