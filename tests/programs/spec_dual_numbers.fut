-- Worked examples of dual-numbers reverse mode: small functions whose derivatives are known in closed form.

-- x^2; x^2 + 3xy; (x^2 z + 3xy, x z^2 + 4y^2)
-- ==
-- entry: square_fwd square_rev
-- input { 3.0 } output { 6.0 }

entry square_fwd (x: f64) = jvp (\x -> x * x) x 1
entry square_rev (x: f64) = vjp (\x -> x * x) x 1

-- ==
-- entry: two_inputs
-- input { 2.0 5.0 } output { 19.0 6.0 }

entry two_inputs (x: f64) (y: f64) = vjp (\(x, y) -> x * x + 3 * x * y) (x, y) 1

-- ==
-- entry: two_outputs_rev two_outputs_fwd
-- input { 2.0 3.0 5.0 } output { [[29.0, 6.0, 4.0], [25.0, 24.0, 20.0]] }

def two_outputs (v: [3]f64): [2]f64 =
  [v[0] * v[0] * v[2] + 3 * v[0] * v[1], v[0] * v[2] * v[2] + 4 * v[1] * v[1]]
entry two_outputs_rev (x: f64) (y: f64) (z: f64) = jacrev two_outputs [x, y, z]
entry two_outputs_fwd (x: f64) (y: f64) (z: f64) = jacfwd two_outputs [x, y, z]

-- let a = x y, b = x + a, c = b a: dc/dx = a + y a + y b, dc/dy = x a + x b
-- ==
-- entry: shared_let
-- input { 2.0 3.0 } output { 48.0 28.0 }

entry shared_let (x: f64) (y: f64) =
  vjp (\(x, y) -> let a = x * y let b = x + a in b * a) (x, y) 1

-- let b = 2a, c = 3b + 7a^5, d = c + 1 in d^2 + a: 2 d (6 + 35 a^4) + 1
-- ==
-- entry: chain_of_lets
-- input { 1.5 } output { 23139.87109375 }

entry chain_of_lets (a: f64) =
  vjp (\a -> let b = 2 * a let c = 3 * b + 7 * a ** 5 let d = c + 1 in d ** 2 + a) a 1

-- let b = a + 1 in if b > 0 then a b else b: 2a + 1 if a > -1, else 1
-- ==
-- entry: branches
-- input { 0.5 } output { 2.0 }
-- input { -3.0 } output { 1.0 }

entry branches (a: f64) = vjp (\a -> let b = a + 1 in if b > 0 then a * b else b) a 1

-- x (x + y) at (12, 13)
-- ==
-- entry: running_example
-- input { 12.0 13.0 } output { 300.0 37.0 12.0 }

entry running_example (x: f64) (y: f64) =
  let (v, (dx, dy)) = vjp2 (\(x, y) -> let z = x + y in x * z) (x, y) 1 in (v, dx, dy)

-- The doubling chain: value 2^n x, gradient 2^n; with scaling it does not overflow and costs linear work.
-- ==
-- entry: doubling
-- input { 1.5 20i64 } output { 1048576.0 }

entry doubling (x: f64) (n: i64) = vjp (\x -> loop y = x for _i < n do y + y) x 1

-- ==
-- entry: scaled_doubling
-- input { 1.5 100000i64 } output { 1.0 }

entry scaled_doubling (x: f64) (n: i64) = vjp (\x -> loop y = x for _i < n do (y + y) * 0.5) x 1

-- y = exp x, z = log y in y + sin z / cos z: exp x + 1 / cos^2 x
-- ==
-- entry: exp_log_tan
-- input { 0.5 } output { 2.947167681109653 }

entry exp_log_tan (x: f64) =
  vjp (\x -> let y = f64.exp x let z = f64.log y in y + f64.sin z / f64.cos z) x 1

-- Array operations of the chapter on arrays.
-- ==
-- entry: scatters
-- input {}
-- output { [3, 7, 11, 15, 9, 0] [4, 4, 7, 2] [12, 2, 0, 7, 0] [0i64, 1i64, 4i64, 9i64] 10 [5, 7, 6, 0] [5, 4, 1] [8, 7] }

entry scatters =
  ( reduce_by_index (replicate 6 0i32) (+) 0 (map (/ 2) (iota 9)) (map i32.i64 (1...9))
  , map (\i -> ([2, 4, 7])[i]) [1, 1, 2, 0] : [4]i32
  , reduce_by_index (replicate 5 0i32) (+) 0 [1, 0, 3, 0] [2, 4, 7, 8]
  , tabulate 4 (\i -> i * i)
  , foldl (+) 0 [1, 2, 3, 4i32]
  , reduce_by_index (replicate 4 0i32) (+) 0 (map (% 3) (iota 4)) [4, 7, 6, 1]
  , tabulate 3 (\i -> ([3, 5, 4, 1, 2])[i + 1]) : [3]i32
  , filter (> 4) [3, 8, -16, 7, 2i32] )

-- Sums over the outer axis, and a transposition of four axes.
-- ==
-- entry: outer_axes
-- input {} output { [12, 15, 18] 9i64 5i64 3i64 6i64 }

entry outer_axes =
  let a = tabulate_3d 5 3 6 (\_ _ _ -> replicate 9 0i32)
  let t = map (map transpose) a |> map transpose |> transpose
  in ( reduce (map2 (+)) [0, 0, 0] [[1, 2, 3], [4, 5, 6], [7, 8, 9i32]]
     , length t, length t[0], length t[0, 0], length t[0, 0, 0] )

-- Rotation of a vector by a quaternion.
-- ==
-- entry: quaternion
-- input { [1.1, 2.2, 3.3, 4.4] [5.5, 6.6, 7.7] }
-- output { [71.874, 303.468, 279.51]
-- [[91.96, 58.08, -77.44, 38.72, 4.84, -24.2, 26.62], [-58.08, 91.96, 38.72, 77.44, 33.88, 12.1, 4.84], [77.44, -38.72, 91.96, 58.08, -12.1, 24.2, 24.2]] }

def rotate_by (v: [7]f64): [3]f64 =
  let (x, y, z, w) = (v[0], v[1], v[2], v[3])
  let cross (a: (f64, f64, f64)) (b: (f64, f64, f64)) =
    (a.1 * b.2 - a.2 * b.1, a.2 * b.0 - a.0 * b.2, a.0 * b.1 - a.1 * b.0)
  let dot (a: (f64, f64, f64)) (b: (f64, f64, f64)) = a.0 * b.0 + a.1 * b.1 + a.2 * b.2
  let u = (x, y, z)
  let p = (v[4], v[5], v[6])
  let c = cross u p
  let (s, k) = (w * w - dot u u, 2 * dot u p)
  in [k * u.0 + s * p.0 + 2 * w * c.0, k * u.1 + s * p.1 + 2 * w * c.1, k * u.2 + s * p.2 + 2 * w * c.2]

entry quaternion (q: [4]f64) (p: [3]f64) =
  let v = sized 7 (q ++ p) in (rotate_by v, jacrev rotate_by v)

-- Reverse an array and sum its first three: the gradient is 1 on the last three.
-- ==
-- entry: reversed_prefix
-- input { [1.0, 2.0, 3.0, 4.0, 5.0] } output { [0.0, 0.0, 1.0, 1.0, 1.0] }

entry reversed_prefix [n] (a: [n]f64) = vjp (\a -> let r = reverse a in r[0] + r[1] + r[2]) a 1
