-- Derivatives by integers, of derivatives, and by rules that the program gives.

-- ==
-- entry: ints
-- input { 3i64 1.3 } output { 6i64 9.0 }
entry ints (n: i64) (x: f64) = vjp (\(n, x) -> f64.i64 (n * n) * x) (n, x) 1

-- ==
-- entry: ints_many
-- input { [1i32,-2,3,4] } output { [7i32, 4i32, 9i32, 10i32] }
entry ints_many (ns: [4]i32) = vjp (\ns -> i32.sum (map2 (*) ns (scan (+) 0 ns))) ns 1

-- ==
-- entry: wrap
-- input { 7i8 } output { -109i8 }
entry wrap (n: i8) = vjp (\n -> n * n * n) n 1

-- ==
-- entry: unsigned
-- input { 300u16 } output { 603u16 }
entry unsigned (n: u16) = vjp (\n -> n * n + 3 * n) n 1

-- ==
-- entry: floor_path
-- input { 1.3 } output { 6.0 }
entry floor_path (x: f64) = vjp (\x -> f64.i64 (i64.f64 (x * 3)) * x) x 1

-- ==
-- entry: f32s
-- input { [0.7f32,-1.2,0.4] } output { [2.8374982f32, -0.17158473f32, 1.9550054f32] }
entry f32s (xs: [3]f32) = vjp (\xs -> f32.sum (map (\x -> f32.sin x * f32.f64 (f64.exp (f64.f32 x))) xs)) xs 1

-- ==
-- entry: f16s
-- input { 1.5f16 } output { 3.0f16 }
entry f16s (x: f16) = vjp (\x -> x * x + 2) x 1

-- ==
-- entry: bools
-- input { 1.3 true } output { 2.6 }
entry bools (x: f64) (b: bool) = (vjp (\(x, b) -> if b then x * x else x) (x, b) 1).0

-- ==
-- entry: index_by_data
-- input { [0.7, -1.2, 1.9, 0.4, 1.1] [0i64,3,2,9,1] } output { [1.4, -1.2999999999999998, 1.1, 1.1, 1.1] }
entry index_by_data (xs: [5]f64) (is: [5]i64) = (vjp (\(xs, is) -> f64.sum (map (\i -> xs[i % 5] * xs[(i * i) % 5]) is)) (xs, is) 1).0

-- ==
-- entry: int_and_float_result
-- input { 1.3 3i64 } output { 3.0 7i64 }
entry int_and_float_result (x: f64) (n: i64) = vjp (\(x, n) -> (x * f64.i64 n, n * n, x > 0)) (x, n) (1, 1, true)

-- ==
-- entry: bits
-- input { 1.3 0xf5u32 } output { 5.07 }
entry bits (x: f64) (n: u32) = vjp (\x -> if u32.popc (n & 0xff) > 3 then x ** 3 else f64.u32 (n >> 2) * x) x 1

-- ==
-- entry: division
-- input { 3i64 3i64 } output { 1i64 -1i64 }
entry division (n: i64) (m: i64) = vjp (\(n, m) -> n / m + n % m + n // m) (n, m) 1

-- ==
-- entry: int_power
-- input { 1.3 3i64 } output { 136.89000000000001 }
entry int_power (x: f64) (n: i64) = vjp (\x -> f64.i64 (n ** 3) * x ** f64.i64 n) x 1

-- ==
-- entry: min_max
-- input { 3i64 3i64 } output { 4i64 0i64 }
entry min_max (n: i64) (m: i64) = vjp (\(a, b) -> i64.max a b * 3 + i64.min a b + i64.abs (a - b)) (n, m) 1

-- nested derivatives

-- ==
-- entry: vjp_vjp_vjp
-- input { 1.3 } output { -13.39913145511099 }
entry vjp_vjp_vjp (x: f64) = vjp (\x -> vjp (\x -> vjp (\x -> f64.sin (x * x)) x 1) x 1) x 1

-- ==
-- entry: jvp_vjp_jvp
-- input { 1.3 } output { 2294.1413169973025 }
entry jvp_vjp_jvp (x: f64) = jvp (\x -> vjp (\x -> jvp (\x -> f64.exp (x * x * x)) x 1) x 1) x 1

-- ==
-- entry: inner_uses_outer
-- input { 1.3 } output { 10.14 }
entry inner_uses_outer (x: f64) = vjp (\x -> x * vjp (\y -> x * y * y) x 1) x 1

-- ==
-- entry: gradient_step
-- input { [0.7, -1.2, 1.9] } output { [0.8396908277066897, 0.6035005498720948, 0.28888805078461555] }
entry gradient_step (xs: [3]f64) = vjp (\xs -> let f = \(ys: [3]f64) -> f64.sum (map (\y -> y ** 4) ys) in let zs = loop zs = xs for i < 3i64 do map2 (\z g -> z - 0.01 * g) zs (vjp f zs 1) in f64.sum zs) xs 1

-- ==
-- entry: hess
-- input { [0.7, -1.2, 1.9] } output { [[-9.575999999999999, 17.86, -16.488], [17.86, -9.575999999999999, 10.947999999999999], [-16.488, 10.948, -9.575999999999999]] }
entry hess (xs: [3]f64) = hessian (\xs -> f64.product xs * f64.sum (map (\x -> x * x) xs)) xs

-- ==
-- entry: hvps
-- input { [0.7, -1.2, 1.9] } output { [3.1999999999999993, 11.799999999999999, 1.8000000000000003] }
entry hvps (xs: [3]f64) = hvp (\xs -> f64.sum (map (\i -> xs[i] * xs[(i + 1) % 3] ** 2) (iota 3))) xs [1, 2, 3]

-- ==
-- entry: derivative_in_reduce
-- input { [0.7, -1.2, 1.9] } output { [4.409999999999999, 12.959999999999999, 32.49] }
entry derivative_in_reduce (xs: [3]f64) = vjp (\xs -> reduce (\a b -> a + b) 0 (map (\x -> vjp (\y -> y * y * y) x x) xs)) xs 1

-- ==
-- entry: derivative_in_while
-- input { 1.3 } output { 9.0 }
entry derivative_in_while (x: f64) = vjp (\x -> loop y = x while y < 10 do y + vjp (\z -> z * z) y 1) x 1

-- ==
-- entry: derivative_in_recursion
-- input { 1.3 } output { 2.856100000000001 }
entry derivative_in_recursion (x: f64) = let rec g (n: i64) (y: f64): f64 = if n == 0 then y else vjp (\z -> z * z * x) (g (n - 1) (y * 0.5)) 1 in vjp (g 4) x 1

-- ==
-- entry: jacobians
-- input { [0.7, -1.2] } output { [[-1.2, 0.7], [0.7648421872844885, 0.0], [0.0, 4.32]] [[-1.2, 0.7], [0.7648421872844885, 0.0], [0.0, 4.32]] [[-1.2, 0.7], [0.7648421872844885, 4.32]] [[0.19999999999999996, 0.7648421872844885, 8.64]] }
entry jacobians (xs: [2]f64) = let f (x: [2]f64) = [x[0] * x[1], f64.sin x[0], x[1] ** 3] in (jacfwd f xs, jacrev f xs, mjp f xs [[1, 0, 0], [0, 1, 1]], jmp f xs [[1, 2]])

-- ==
-- entry: seeds_of_vjp
-- input { 1.3 } output { 6.0 1.3 }
entry seeds_of_vjp (x: f64) = vjp (\s -> vjp (\y -> (y * y, y * x)) 3 s) (x, 2) 1

-- custom rules

def square (x: f64): f64 = with_vjp (\x -> x * x) (\res adj -> 2 * f64.sqrt res * adj) x

-- ==
-- entry: rule
-- input { 1.3 } output { 11.388000000000002 }
entry rule (x: f64) = vjp (\x -> square (square x) + square x) x 1

-- ==
-- entry: rule_in_map
-- input { [0.7, -1.2, 1.9, 0.4] } output { [1.4699999999999998, -1.44, 10.83, 0.4800000000000001] }
entry rule_in_map (xs: [4]f64) = vjp (\xs -> f64.sum (map (\x -> square x * x) xs)) xs 1

-- ==
-- entry: rule_in_loop
-- input { 1.3 } output { 0.3921782312500002 }
entry rule_in_loop (x: f64) = vjp (\x -> loop y = x for i < 3i64 do square y * 0.5) x 1

-- ==
-- entry: rule_in_recursion
-- input { 1.3 } output { 4.00418080755094 }
entry rule_in_recursion (x: f64) = let rec g (n: i64) (y: f64): f64 = if n == 0 then y else square (g (n - 1) (0.9 * y)) in vjp (g 3) x 1

-- ==
-- entry: rule_in_branch
-- input { 1.3 } output { 2.6 }
entry rule_in_branch (x: f64) = vjp (\x -> if x > 0 then square x else x) x 1

-- ==
-- entry: rule_forward
-- input { 1.3 } output { 2.6 }
entry rule_forward (x: f64) = jvp (\x -> square x) x 1

-- ==
-- entry: rule_twice
-- input { 1.3 } output { 2.0 }
entry rule_twice (x: f64) = vjp (\x -> vjp square x 1) x 1

-- ==
-- entry: rule_tape
-- input { 1.3 } output { 110.07890002857734 }
entry rule_tape (x: f64) = vjp (\x -> 3 * with_vjp_tape (\x -> let e = f64.exp x in (e, e * x)) (\(e, adj) -> e * adj * 10) x) x 1

-- ==
-- entry: rule_pairs
-- input { 1.3 1.3 } output { 9.360000000000001 3.3800000000000003 }
entry rule_pairs (x: f64) (y: f64) = vjp (\(x, y) -> let (a, b) = with_vjp (\(x, y) -> (x * y, x + y)) (\(p, s) (dp, ds) -> (dp * s, ds + p)) (x, y) in a * b + a) (x, y) 1

-- ==
-- entry: rule_jvp
-- input { 1.3 } output { 9.1 3.6692966676192444 }
entry rule_jvp (x: f64) = (jvp (\x -> with_jvp f64.exp (\x dx -> 7 * x * dx) x) x 1, vjp (\x -> with_jvp f64.exp (\x dx -> 7 * x * dx) x) x 1)

-- ==
-- entry: rule_arrays
-- input { [0.7, -1.2, 1.9] } output { [6.893839943635947, 2.838639976791272, 2.8386399767912724] }
entry rule_arrays (xs: [3]f64) = vjp (\xs -> let ys = with_vjp (map f64.exp) (\res adj -> map2 (*) res adj) xs in ys[0] * ys[1] * ys[2] * xs[0]) xs 1

-- ==
-- entry: rule_sum_type
-- input { 1.3 } output { 8.19 }
entry rule_sum_type (x: f64) =
  let f (x: f64): #a f64 | #b = with_vjp (\x -> if x > 0 then #a (x * x) else #b) (\_ adj -> match adj case #a d -> 5 * d case #b -> 0) x
  in vjp (\x -> match f x case #a y -> y * x case #b -> x) x 1

-- ==
-- entry: par_pair
-- input { 1.3 } output { -2.1644801397926234 }
entry par_pair (x: f64) = vjp (\x -> let (a, b) = par (f64.sin x * x) (square x) in let ((c, d), e) = par (par (a * b) (a - b)) (x * a) in c * d + e) x 1

-- ==
-- entry: recomputed
-- input { 1.3 } output { 38.89552605588431 }
entry recomputed (x: f64) = vjp (\x -> #[recompute] (let y = f64.exp (x * x) in f64.sin y * y)) x 1

-- ==
-- entry: asserted
-- input { 1.3 } output { 0.7692307692307692 }
entry asserted (x: f64) = vjp (\x -> assert (x > 0) (f64.log x)) x 1

-- ==
-- entry: unit
-- input { 1.3 } output { 2.6 }
entry unit (x: f64) = vjp (\(x, ()) -> (x * x, ())) (x, ()) (1, ())

-- ==
-- entry: irregular
-- input { 1.3 } output { [5.07, 5.07] [2.6, 2.6, 2.6] }
entry irregular (x: f64) = let rows = vjp (\(a, b) -> f64.sum a * f64.sum b) (replicate 2 x, replicate 3 (x * x)) 1 in (rows.0, rows.1)
