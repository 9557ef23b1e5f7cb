-- Sums down the columns of a matrix go side by side, some of them in each chunk: the chunks meet wherever a number of columns is cut.

def matrix (n: i64) (d: i64) : [n][d]f64 = tabulate_2d n d (\i j -> f64.i64 ((i * 7 + j * 3) % 11 - 5))

def downwards [n][d] (x: [n][d]f64) (r: [n]f64) : [d]f64 = map (\column -> f64.sum (map2 (*) column r)) (transpose x)

def in_order [n][d] (x: [n][d]f64) (r: [n]f64) : [d]f64 =
  loop sums = replicate d 0 for i < n do map2 (\sum e -> sum + r[i] * e) sums x[i]

-- ==
-- entry: all_agree
-- input { 700i64 [1i64, 15i64, 16i64, 17i64, 31i64, 33i64, 40i64, 47i64, 50i64, 64i64, 95i64, 96i64, 97i64, 100i64, 111i64, 128i64, 160i64, 201i64] }
-- output { true }

entry all_agree (n: i64) (sizes: []i64) : bool =
  let r = map (\i -> f64.i64 (i % 5 - 2)) (iota n)
  in loop good = true for d in sizes do
       let x = matrix n d
       in good && and (map2 (==) (downwards x r) (in_order x r))

-- The same in a gradient, where the sums are adjoints.

-- ==
-- entry: gradients_agree
-- input { 700i64 [1i64, 15i64, 16i64, 17i64, 31i64, 33i64, 40i64, 47i64, 50i64, 64i64, 95i64, 96i64, 97i64, 100i64, 111i64, 128i64, 160i64, 201i64] }
-- output { true }

entry gradients_agree (n: i64) (sizes: []i64) : bool =
  let r = map (\i -> f64.i64 (i % 5 - 2)) (iota n)
  in loop good = true for d in sizes do
       let x = matrix n d
       let gradient = vjp (\w -> f64.sum (map2 (\row r -> r * f64.sum (map2 (*) row w)) x r)) (replicate d 1) 1
       in good && and (map2 (==) gradient (in_order x r))
