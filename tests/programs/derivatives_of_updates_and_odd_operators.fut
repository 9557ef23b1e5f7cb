-- Derivatives of updates in place, of reductions, scans, histograms and scatters with operators of all kinds, and of empty arrays.

-- ==
-- entry: cholesky
-- input { 1.3 } output { 0.3238161885656853 }
entry cholesky (x: f64) =
  vjp (\x -> let n = 4i64
             let a = tabulate_2d n n (\i j -> if i == j then 5 + x else 1 / (1 + x * f64.i64 (i + j)))
             let l = loop l = replicate n (replicate n 0f64) for j < n do
               let s = f64.sum (map (\k -> if k < j then l[j, k] * l[j, k] else 0) (iota n))
               let l = l with [j, j] = f64.sqrt (a[j, j] - s)
               in loop l for i in j + 1..<n do
                 let s = f64.sum (map (\k -> if k < j then l[i, k] * l[j, k] else 0) (iota n))
                 in l with [i, j] = (a[i, j] - s) / l[j, j]
             in f64.sum (map f64.log (map (\i -> l[i, i]) (iota n)))) x 1

-- ==
-- entry: overwritten
-- input { [0.7, -1.2, 1.9, 0.4] } output { [11.399999999999999, 0.0, 134.2, 1000.0] }
entry overwritten (xs: [4]f64) =
  vjp (\xs -> let ys = copy xs with [1] = xs[0] * 2 let ys = ys with [1] = ys[2] * ys[1] let ys = ys with [0:2] = map (* 3) ys[1:3] in f64.sum (map2 (*) ys [1, 10, 100, 1000])) xs 1

-- ==
-- entry: backwards_slice
-- input { [0.7, -1.2, 1.9, 0.4, 1.1] } output { [5.0, 2.0, 3.0, 4.0, 1.0] }
entry backwards_slice (xs: [5]f64) = vjp (\xs -> let ys = copy xs with [::2] = xs[4::-2] in f64.sum (map2 (*) ys (map f64.i64 (1...5)))) xs 1

-- ==
-- entry: in_place_row
-- input { 1.3 } output { 1425.7651200000005 }
entry in_place_row (x: f64) =
  vjp (\x -> let m = replicate 3 (replicate 2 x)
             let m = loop m for i < 3i64 do m with [i] = map (\y -> y * f64.i64 i + (if i > 0 then m[i - 1, 0] else x)) m[i]
             in f64.product (flatten m)) x 1

-- ==
-- entry: sieve
-- input { 1.3 } output { 153.5 }
entry sieve (x: f64) =
  vjp (\x -> let xs = loop xs = map (\i -> x * f64.i64 i) (iota 20) for i in 2...4 do
                        loop xs for j in 2...19 / i do xs with [i * j] = xs[i * j] * 0.5 + xs[i]
             in f64.sum xs) x 1

-- A monoid of matrices, of maxima with places, of pairs with integers, of segments; saturating sums; string of brackets.

-- ==
-- entry: matrices
-- input { [0.7, -1.2, 1.9, 0.4, 1.1] } output { [-22.059108362488942, 121.03238863305855, -35.477433403914866, -19.505142995495675, -37.81700070066751] }
entry matrices (xs: [5]f64) =
  vjp (\xs -> let (a, b, c, d) = reduce (\(a, b, c, d) (e, f, g, h) -> (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)) (1, 0, 0, 1)
                  (map (\x -> (x, 1, -1, x * x)) xs) in a * d - b * c + a) xs 1

-- ==
-- entry: arg_max
-- input { [0.7, -1.2, 1.9, 0.4, 1.1] } output { [0.0, 0.0, 2.0, 0.0, 0.0] }
entry arg_max (xs: [5]f64) =
  vjp (\xs -> let (v, i) = reduce (\(a, i) (b, j) -> if a >= b then (a, i) else (b, j)) (-f64.inf, -1) (zip xs (iota 5)) in v * f64.i64 i) xs 1

-- ==
-- entry: softplus_sum
-- input { [0.7, -1.2, 1.9, 0.4, 1.1] } output { [0.14920187900756804, 0.022315919028584607, 0.49536768339711734, 0.11053147052875546, 0.2225830480379746] }
entry softplus_sum (xs: [5]f64) = vjp (\xs -> reduce (\a b -> let m = f64.max a b in if m == -f64.inf then m else m + f64.log (f64.exp (a - m) + f64.exp (b - m))) (-f64.inf) xs) xs 1

-- ==
-- entry: segments
-- input { [0.7, -1.2, 1.9, 0.4, 1.1, -0.3] } output { [3.416, -1.176, 5.14368, 6.38248, 1.27072, -0.6] }
entry segments (xs: [6]f64) =
  vjp (\xs -> let ys = scan (\(f, a) (g, b) -> (f || g, if g then b else a * b)) (false, 1) (zip [true, false, true, false, false, true] xs) in f64.sum (map (\(_, y) -> y * y) ys)) xs 1

-- ==
-- entry: affine
-- input { [0.7, -1.2, 1.9, 0.4, 1.1] } output { [-14.943679999999999, -2.292959999999999, 5.46848, 5.95728, 3.17472] }
entry affine (xs: [5]f64) = vjp (\xs -> let ys = scan (\(a, b) (c, d) -> (c * a, c * b + d)) (1, 0) (map (\x -> (x, x * x)) xs) in f64.sum (map (\(a, b) -> a * 2 + b) ys)) xs 1

-- ==
-- entry: scan_rows
-- input { [0.7, -1.2, 1.9, 0.4] } output { [7.927065599999998, -15.986269599999996, 2.1385727999999995, 2.8325807999999992] }
entry scan_rows (xs: [4]f64) = vjp (\xs -> let ms = scan (map2 (*)) [1, 1] (map (\x -> [x, x + 1]) xs) in f64.sum (map (\r -> r[0] * r[1]) ms)) xs 1

-- ==
-- entry: reduce_rows
-- input { [0.7, -1.2, 1.9, 0.4] } output { [0.0, -1.9, 1.2, 0.0] }
entry reduce_rows (xs: [4]f64) = vjp (\xs -> let r = reduce (map2 f64.max) [-10, -10] (map (\x -> [x, -x]) xs) in r[0] * r[1]) xs 1

-- ==
-- entry: exclusive
-- input { [0.7, -1.2, 1.9, 0.4] } output { [-3.3920000000000003, 2.562, -1.176, -1.5959999999999999] }
entry exclusive (xs: [4]f64) = vjp (\xs -> f64.sum (map2 (*) xs (exscan (*) 1 xs))) xs 1

-- ==
-- entry: hist_pairs
-- input { [0.7, -1.2, 1.9, 0.4, 1.1, -0.3] } output { [3.8, 2.2, 1.4, 0.0, -2.4, 0.0] }
entry hist_pairs (xs: [6]f64) =
  vjp (\xs -> let bins = hist (\(a, n) (b, m) -> (a * b, n + m)) (1, 0) 3 [0, 2, 0, 7, 2, -1] (map (\x -> (x, 1i32)) xs) in f64.sum (map (\(a, n) -> a * f64.i32 n) bins)) xs 1

-- ==
-- entry: hist_min
-- input { [0.7, -1.2, 1.9, 0.4, 1.1, -0.3] } output { [3.4000000000000004, 0.0, 0.0, 0.0, 0.0, 0.0] }
entry hist_min (xs: [6]f64) = vjp (\xs -> f64.sum (reduce_by_index (replicate 3 xs[0]) f64.min f64.inf [0, 2, 0, 7, 2, -1] (map (\x -> x * x) xs))) xs 1

-- ==
-- entry: hist_vectors
-- input { [0.7, -1.2, 1.9, 0.4] } output { [6.953999999999999, -1.4, 2.5619999999999994, 0.0] }
entry hist_vectors (xs: [4]f64) =
  vjp (\xs -> let m = reduce_by_index (replicate 2 (replicate 2 1f64)) (map2 (*)) [1, 1] [1, 0, 1, 5] (map (\x -> [x, x * x]) xs) in f64.sum (flatten m)) xs 1

-- ==
-- entry: scatter_twice
-- input { [0.7, -1.2, 1.9, 0.4] } output { [2200.0, 0.0, 22.0, 0.0] }
entry scatter_twice (xs: [4]f64) = vjp (\xs -> let ys = scatter (copy xs) [3, 9, 0, -1] (map (* 2) xs) let ys = scatter ys [1, 2] [ys[0], ys[3]] in f64.sum (map2 (*) ys [1, 10, 100, 1000])) xs 1

-- ==
-- entry: scatter_matrix
-- input { [0.7, -1.2, 1.9] } output { [-1.7639999999999998, 0.3429999999999999, 0.0] }
entry scatter_matrix (xs: [3]f64) = vjp (\xs -> let m = scatter_2d (replicate 2 (replicate 2 xs[0])) [(0, 1), (1, 1), (5, 0)] xs in m[0, 0] * m[0, 1] * m[1, 0] * m[1, 1]) xs 1

-- ==
-- entry: filtered
-- input { [0.7, -1.2, 1.9, 0.4, 1.1, -0.3] } output { [3.3440000000000003, 0.0, 1.232, 5.851999999999999, 2.1279999999999997, 0.0] }
entry filtered (xs: [6]f64) = vjp (\xs -> let ys = filter (> 0) xs in f64.product ys * f64.i64 (length ys)) xs 1

-- ==
-- entry: empties
-- input { empty([0]f64) } output { 1.0 empty([0]f64) }
entry empties (xs: []f64) =
  vjp2 (\xs -> f64.sum xs + f64.product xs + f64.maximum (concat [0] xs) + f64.sum (scan (*) 1 xs) + f64.sum (hist (+) 0 2 (map (const 0) xs) xs)
               + f64.sum (flatten (map (\x -> [x, x]) xs)) + f64.sum (map (\r -> f64.sum r) (transpose (replicate 2 xs)))) xs 1

-- ==
-- entry: empty_seed
-- input { 3i64 1.3 } output { 9.0 }
entry empty_seed (n: i64) (x: f64) = vjp (\x -> replicate n x) x (replicate n 3)

-- ==
-- entry: empty_rows
-- input { 3i64 1.3 } output { 9.0 }
entry empty_rows (n: i64) (x: f64) = vjp (\x -> f64.sum (map (\i -> f64.sum (replicate n x)) (iota 3))) x 1

-- ==
-- entry: empty_jacobian
-- input { empty([0]f64) } output { empty([0][0]f64) }
entry empty_jacobian (xs: []f64) = jacrev (map (\x -> x * x)) xs

-- ==
-- entry: minimum_of_none
-- input { empty([0]f64) } output { empty([0]f64) }
entry minimum_of_none (xs: []f64) = vjp f64.minimum xs 1
