-- Derivatives of programs that mix constructs.

type~ ragged = #row []f64

-- ==
-- entry: ragged_rows
-- input { 1.3 } output { 148.29000000000005 }
entry ragged_rows (x: f64) =
  vjp (\x -> let rows: []ragged = map (\i -> #row (replicate i (x * f64.i64 i))) (iota 4)
             in f64.sum (map (\r -> match r case #row ys -> f64.product ys + f64.i64 (length ys)) rows)) x 1

-- ==
-- entry: ragged_gradient
-- input { 1.3 } output { [0.0, 2.6, 10.4, 23.400000000000002] }
entry ragged_gradient (x: f64) =
  let rows: []ragged = map (\i -> #row (replicate i (x * f64.i64 i))) (iota 4)
  let g = vjp (\rs -> f64.sum (map (\r -> match r case #row ys -> f64.sum (map (\y -> y * y) ys)) rs)) rows 1
  in map (\r -> match r case #row ys -> f64.sum ys) g

-- ==
-- entry: record_state
-- input { 1.3 } output { 24.759375000000002 }
entry record_state (x: f64) =
  let step (s: {xs: [4]f64, k: i64, total: f64}) = let v = s.xs[s.k % 4] * x in s with xs = (copy s.xs with [s.k % 4] = v + s.total) with k = s.k + 3 with total = s.total * 0.5 + v
  in vjp (\x -> let s = loop s = {xs = [x, 2 * x, 3, 4], k = 0i64, total = x} for i < 7i64 do step s in s.total + f64.sum s.xs) x 1

-- ==
-- entry: tree_of_maps
-- input { 1.3 } output { 23.4 }
entry tree_of_maps (x: f64) =
  let rec go (d: i64) (y: f64): f64 = if d == 0 then y * x else f64.sum (map (\i -> go (d - 1) (y * f64.i64 i + x)) (iota (d + 1)))
  in vjp (go 3) x 1

-- ==
-- entry: scan_in_while
-- input { 1.3 } output { 3542.1100000000006 }
entry scan_in_while (x: f64) =
  vjp (\x -> let (xs, _) = loop (xs, n) = ([x, x * 2, 1], 0i64) while f64.sum xs < 200 && n < 9 do (scan (+) 0 xs, n + 1) in f64.product xs) x 1

-- ==
-- entry: map_of_loops_of_branches
-- input { [0.7, -1.2, 1.9, 0.4] } output { [2.8260493670521307, -1.1932726950724457, 2.55322598840067, 34.71406638373959] }
entry map_of_loops_of_branches (xs: [4]f64) =
  vjp (\xs -> map (\x -> loop y = x for i < 5i64 do if y > 1 then f64.log y else if y < -1 then -y else y * y + x) xs) xs [1, 2, 3, 4]

-- ==
-- entry: max_pool
-- input { [0.7, -1.2, 1.9, 0.4, 1.1, -0.3] } output { [1.0, 0.0, 1.0, 0.0, 1.0, 0.0] }
entry max_pool (xs: [6]f64) = vjp (\xs -> f64.sum (map (\i -> f64.maximum xs[2 * i: 2 * i + 2]) (iota 3))) xs 1

-- ==
-- entry: stencil
-- input { [0.7, -1.2, 1.9, 0.4, 1.1, -0.3] } output { [2.44171053125, -2.466449284375, 9.85865630625, 2.073079540625, 1.2620775062500003, 1.574437125] }
entry stencil (xs: [6]f64) = vjp (\xs -> loop xs = xs for _t < 3i64 do map (\i -> if i == 0 || i == 5 then xs[i] else 0.25 * xs[i - 1] + 0.5 * xs[i] * xs[i] + 0.25 * xs[i + 1]) (iota 6)) xs (replicate 6 1)

-- ==
-- entry: sort_by_key
-- input { [0.7, -1.2, 1.9, 0.4, 1.1, -0.3] } output { [3.0, 0.0, 5.0, 2.0, 4.0, 1.0] }
entry sort_by_key (xs: [6]f64) =
  vjp (\xs -> let is = loop is = iota 6 for i < 5i64 do loop is for j < 5 - i do if xs[is[j]] > xs[is[j + 1]] then let (a, b) = (is[j], is[j + 1]) in (copy is with [j] = b) with [j + 1] = a else is
              in f64.sum (map2 (\k i -> f64.i64 k * xs[i]) (iota 6) is)) xs 1

-- ==
-- entry: bisection
-- input { 1.3 } output { 1.0 }
entry bisection (a: f64) =
  let solve (a: f64) = with_vjp (\a -> (loop (lo, hi) = (0, 10) for _i < 60i64 do let m = (lo + hi) / 2 in if m * m * m > a then (lo, m) else (m, hi)).0) (\r adj -> adj / (3 * r * r)) a
  in vjp (\a -> solve a * solve (a * a)) a 1

-- ==
-- entry: iterated_rule
-- input { 1.3 } output { 0.5 }
entry iterated_rule (x: f64) =
  let clip (x: f64) = with_vjp id (\_ adj -> f64.max (-0.5) (f64.min 0.5 adj)) x
  in vjp (\x -> let y = clip x in f64.sum (map (\i -> clip (y * f64.i64 i)) (iota 4)) + y * y) x 1

-- ==
-- entry: rule_with_capture
-- input { 1.3 3i64 } output { 48.0 }
entry rule_with_capture (x: f64) (k: i64) =
  let f (y: f64) = with_vjp (\y -> y * f64.i64 k) (\r adj -> adj * f64.i64 k + r) y in vjp (\x -> f (f x)) x 1

-- ==
-- entry: rule_of_arrays_of_records
-- input { [0.7, -1.2, 1.9] } output { [2.772, -9.312, 31.235999999999994] }
entry rule_of_arrays_of_records (xs: [3]f64) =
  let f (ps: [3]{a: f64, b: i64}) = with_vjp (\ps -> map (\(p: {a: f64, b: i64}) -> p.a * f64.i64 p.b) ps) (\res adj -> map2 (\r d -> {a = r + d, b = 0i64}) res adj) ps
  in vjp (\xs -> f64.sum (f (map (\x -> {a = x * x, b = 2i64}) xs))) xs 1

module type ring = { type t val add: t -> t -> t val mul: t -> t -> t val of: f64 -> t val out: t -> f64 }

module poly (R: ring) = { def eval [n] (cs: [n]R.t) (x: R.t): R.t = foldr (\c acc -> R.add c (R.mul x acc)) (R.of 0) cs }

module complex: ring with t = (f64, f64) = { type t = (f64, f64) def add (a: t) (b: t) = (a.0 + b.0, a.1 + b.1) def mul (a: t) (b: t) = (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0) def of (x: f64) = (x, 1f64) def out (a: t) = a.0 * a.1 }

module cp = poly complex

-- ==
-- entry: modules
-- input { [0.7, -1.2, 1.9] } output { [53.13276, -16.586599999999997, 70.15284] }
entry modules (xs: [3]f64) = vjp (\xs -> complex.out (cp.eval (map complex.of xs) (xs[0], xs[2]))) xs 1

-- ==
-- entry: flat_mapped
-- input { 1.3 } output { 2405.978640000001 }
entry flat_mapped (x: f64) = vjp (\x -> let (_, _, _, ys) = flatmap' (\i -> replicate i (x * f64.i64 i)) (iota 4) in f64.product ys) x 1

-- ==
-- entry: two_by_two_zero
-- input { 3i64 1.3 } output { 3.0 }
entry two_by_two_zero (n: i64) (x: f64) = vjp (\x -> let m = replicate n (replicate 0 x) in x * f64.i64 (length m) + f64.sum (map f64.sum m)) x 1

-- ==
-- entry: many_seeds_of_sums
-- input { 1.3 } output { [2.6, 5.2, 7.800000000000001] }
entry many_seeds_of_sums (x: f64) =
  let f (x: f64): #a f64 | #b = if x > 0 then #a (x * x) else #b in mjp f x [#a 1, #a 2, #a 3]

-- ==
-- entry: many_tangents_of_pairs
-- input { 1.3 } output { [2.2674988286245874, 1.3, 8.434997657249175] }
entry many_tangents_of_pairs (x: f64) = jmp (\(a, b) -> a * b + f64.sin a) (x, 2) [(1, 0), (0, 1), (2, 3)]

-- ==
-- entry: unused_results
-- input { 1.3 } output { 2.6 }
entry unused_results (x: f64) = vjp (\x -> let (a, _, _) = (x * x, f64.sqrt (-x), x / 0) in a) x 1

-- ==
-- entry: zero_seed_of_infinity
-- input { 1.3 } output { 2.6 }
entry zero_seed_of_infinity (x: f64) = vjp (\x -> (f64.sqrt (x - 1.3), x * x)) x (0, 1)

-- ==
-- entry: power_at_zero
-- input { 3i64 } output { 0.0 }
entry power_at_zero (n: i64) = vjp (\x -> x ** 2 + x ** 0 + 0 ** x) (f64.i64 (n - 3) ) 1

-- ==
-- entry: abs_and_sign
-- input { [0.7, -1.2, 1.9, 0.4, 1.1] } output { [2.0, 2.0, 2.0, 3.0, 2.0] }
entry abs_and_sign (xs: [5]f64) = vjp (\xs -> f64.sum (map (\x -> f64.abs x * f64.sgn x + f64.max x 0 + f64.min x 0.5) xs)) xs 1

-- ==
-- entry: gammas
-- input { 1.3 } output { 5.391347458202418 }
entry gammas (x: f64) = vjp (\x -> f64.lgamma x + f64.erf x * f64.atan2 x 2 + f64.hypot x 3 + f64.log1p x + f64.cbrt x + f64.mad x x x + f64.lerp x 2 x) x 1

-- ==
-- entry: float_mod
-- input { 1.3 } output { 8.0 }
entry float_mod (x: f64) = vjp (\x -> (x * 7) % 2 + f64.floor x * x + f64.round x) x 1

-- ==
-- entry: deep_nest
-- input { 1.3 } output { 4.699040128560446 }
entry deep_nest (x: f64) = vjp (\x -> f64.sum (map (\i -> reduce (+) 0 (map (\j -> (loop y = x for k < i + j do (if k % 2 == 0 then y * 0.9 else f64.sin y))) (iota 3))) (iota 3))) x 1

-- ==
-- entry: par_in_map
-- input { [0.7, -1.2, 1.9, 0.4] } output { [-6.327489093878874, -4.32541903065828, -1.323468942665718, -127.6812801841425] }
entry par_in_map (xs: [4]f64) = vjp (\xs -> map (\x -> let (a, b) = par (x * x) (f64.exp x) in let (c, d) = par (a + b) (a * b) in c / d) xs) xs [1, 2, 3, 4]

-- ==
-- entry: matmul_chain
-- input { [0.7, -1.2, 1.9, 0.4] } output { [16.568399999999997, -17.883, 10.489199999999999, 17.915599999999994] }
entry matmul_chain (xs: [4]f64) =
  let mm [n][m][k] (a: [n][m]f64) (b: [m][k]f64): [n][k]f64 = map (\r -> map (\c -> f64.sum (map2 (*) r c)) (transpose b)) a
  in vjp (\xs -> let a = unflatten (sized (2 * 2) xs) in let b = loop b = a for _i < 4i64 do mm b a in b[0, 1] + b[1, 1]) xs 1

-- ==
-- entry: concat_slices
-- input { [0.7, -1.2, 1.9, 0.4, 1.1] } output { [11.0, 19.0, 12.0, 2.0, 1.0] }
entry concat_slices (xs: [5]f64) = vjp (\xs -> let ys = xs[1:4] ++ xs[::-1] ++ take 2 xs let zs = rotate 2 ys in f64.sum (map2 (*) zs (map f64.i64 (indices zs)))) xs 1

-- ==
-- entry: equal_branches
-- input { [0.7, -1.2, 1.9, 0.4, 1.1] 3i64 } output { [2.8, -4.8, 7.6, 1.6, 4.4] }
entry equal_branches (xs: [5]f64) (k: i64) = vjp (\xs -> let ys = if k > 2 then map (* 2) xs else xs let ys = if k > 5 then reverse ys else ys in f64.sum (map2 (*) ys xs)) xs 1

-- ==
-- entry: different_sizes
-- input { [0.7, -1.2, 1.9, 0.4, 1.1] 3i64 } output { [-2.28, 1.3299999999999998, -0.84, 0.0, 0.0] }
entry different_sizes (xs: [5]f64) (k: i64) = vjp (\xs -> let ys = if k > 2 then xs[0:k] else map (* 2) xs[k:] in f64.product ys) xs 1

-- ==
-- entry: tuple_of_arrays_loop
-- input { [0.7, -1.2, 1.9, 0.4, 1.1] } output { [-0.39512499999999995, -5.6212, 5.4395999999999995, 2.9444, 1.1838499999999996] }
entry tuple_of_arrays_loop (xs: [5]f64) = vjp (\xs -> let (a, b) = loop (a, b) = (xs, map (* 0.5) xs) for i < 3i64 do (map2 (*) a b, rotate 1 a) in f64.sum a + f64.sum b) xs 1
