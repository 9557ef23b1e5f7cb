-- Sums of products over several axes, and products with few rows or columns: as matrix products where elements lie behind each other.
-- Expected values: the same sums, written as loops; a loop adds up in order.
-- ==
-- entry: over_two_axes
-- input { 3i64 5i64 7i64 9i64 } output { true }
-- input { 1i64 40i64 33i64 17i64 } output { true }
-- input { 0i64 4i64 3i64 2i64 } output { true }

-- ==
-- entry: over_part_of_an_axis
-- input { 4i64 6i64 10i64 12i64 } output { true }
-- input { 4i64 20i64 10i64 12i64 } output { true }

-- ==
-- entry: narrow
-- input { 1i64 1i64 40i64 } output { true }
-- input { 1i64 70i64 33i64 } output { true }
-- input { 2i64 5i64 300i64 } output { true }
-- input { 3i64 33i64 128i64 } output { true }
-- input { 37i64 3i64 64i64 } output { true }
-- input { 37i64 7i64 19i64 } output { true }
-- input { 130i64 2i64 513i64 } output { true }
-- input { 130i64 5i64 1i64 } output { true }

-- ==
-- entry: weights_of_a_layer
-- input { 3i64 4i64 9i64 10i64 } output { true }
-- input { 1i64 2i64 30i64 20i64 } output { true }

def number (i: i64): f64 = f64.i64 ((i * 7919 + 13) % 101) / 50 - 1
def dot [n] (a: [n]f64) (b: [n]f64): f64 = f64.sum (map2 (*) a b)
def near (a: f64) (b: f64): bool = f64.abs (a - b) <= 1e-9 * f64.max 1 (f64.abs b)
def all_near [n][m] (a: [n][m]f64) (b: [n][m]f64): bool = and (map2 (\a b -> and (map2 near a b)) a b)

def tensor (a: i64) (b: i64) (c: i64) (by: i64): [a][b][c]f64 = tabulate_3d a b c (\i j k -> number (i + by * j + 7 * k))

-- z[d, h] = sum over b and t of x[b, t, d] * y[b, t, h]
def summed [b][t][d][h] (x: [b][t][d]f64) (y: [b][t][h]f64): [d][h]f64 =
  tabulate_2d d h (\i j -> f64.sum (tabulate b (\k -> f64.sum (tabulate t (\l -> x[k, l, i] * y[k, l, j])))))

def in_order [b][t][d][h] (x: [b][t][d]f64) (y: [b][t][h]f64): [d][h]f64 =
  tabulate_2d d h (\i j -> loop s = 0 for k < b do loop s for l < t do s + x[k, l, i] * y[k, l, j])

entry over_two_axes (b: i64) (t: i64) (d: i64) (h: i64): bool =
  let (x, y) = (tensor b t d 3, tensor b t h 5)
  let flat = f64.sum (flatten (tabulate_2d d h (\i j -> f64.sum (flatten (tabulate_2d b t (\k l -> x[k, l, i] * y[k, l, j]))))))
  in all_near (summed x y) (in_order x y) && near flat (f64.sum (flatten (in_order x y)))

-- Of the second axis only a part is summed over, so that elements do not lie behind each other.
entry over_part_of_an_axis (b: i64) (t: i64) (d: i64) (h: i64): bool =
  let (x, y) = (tensor b t d 3, tensor b t h 5)
  let s = t / 2
  let part = tabulate_2d d h (\i j -> f64.sum (flatten (tabulate_2d b s (\k l -> x[k, l, i] * y[k, l, j]))))
  in all_near part (in_order (map (take s) x) (map (take s) y))

entry narrow (n: i64) (k: i64) (m: i64): bool =
  let (x, w) = (tabulate_2d n m (\i j -> number (i + 3 * j)), tabulate_2d k m (\i j -> number (5 * i + 11 * j)))
  let right = tabulate_2d n k (\i j -> loop s = 0 for l < m do s + x[i, l] * w[j, l])
  let by_rows = map (\row -> map (dot row) w) x
  let by_columns = let v = copy (transpose w) in map (\row -> map (dot row) (transpose v)) x
  let of_columns = let y = copy (transpose x) in map (\row -> map (dot row) w) (transpose y)
  in all_near by_rows right && all_near by_columns right && all_near of_columns right

-- The cotangent of weights that are used for a batch of sequences, against forward mode.
entry weights_of_a_layer (b: i64) (t: i64) (d: i64) (h: i64): bool =
  let (x, w) = (tensor b t d 3, tabulate_2d d h (\i j -> number (i + 2 * j)))
  let f w = f64.sum (flatten (flatten (map (\xb -> map (\row -> map (\c -> f64.tanh (dot row c)) (transpose w)) xb) x)))
  let dw = tabulate_2d d h (\i j -> number (3 * i - j))
  in near (f64.sum (flatten (map2 (map2 (*)) (vjp f w 1) dw))) (jvp f w dw)
