-- A Gaussian mixture with full covariances: log likelihood, and its gradient derived by hand.

def log_sum_exp [n] (xs: [n]f64): f64 =
  let top = f64.maximum xs
  in top + f64.log (f64.sum (map (\x -> f64.exp (x - top)) xs))

def dot [n] (a: [n]f64) (b: [n]f64): f64 = f64.sum (map2 (*) a b)

def triangular [d][t] (q: [d]f64) (l: [t]f64): [d][d]f64 =
  tabulate_2d d d (\i j -> if i == j then f64.exp q[i] else if i > j then l[j * (2 * d - j - 1) / 2 + i - j - 1] else 0)

entry objective [n][k][d][t] (x: [n][d]f64) (alpha: [k]f64) (mu: [k][d]f64) (q: [k][d]f64) (l: [k][t]f64): f64 =
  let qs = map2 triangular q l
  let centres = map2 (\q mu -> map (dot mu) q) qs mu
  let sums = map f64.sum q
  let of_point x =
    log_sum_exp (map4 (\a c q s -> a + s - 0.5 * f64.sum (map2 (\row c -> (dot row x - c) ** 2) q c)) alpha centres qs sums)
  in f64.sum (map of_point x) - f64.i64 n * log_sum_exp alpha

entry by_hand [n][k][d][t] (x: [n][d]f64) (alpha: [k]f64) (mu: [k][d]f64) (q: [k][d]f64) (l: [k][t]f64) (seed: f64) =
  let qs = map2 triangular q l
  let centres = map2 (\q mu -> map (dot mu) q) qs mu
  let sums = map f64.sum q
  let z = map (\x -> map2 (\q c -> map2 (\row c -> dot row x - c) q c) qs centres) x
  let terms = map (\z -> map3 (\a s z -> a + s - 0.5 * dot z z) alpha sums z) z
  let tops = map f64.maximum terms
  let exps = map2 (\top -> map (\t -> f64.exp (t - top))) tops terms
  let totals = map f64.sum exps
  let top = f64.maximum alpha
  let shares = map (\a -> f64.exp (a - top)) alpha
  let share = f64.sum shares
  let value =
    f64.sum (map2 (\top total -> top + f64.log total) tops totals) - f64.i64 n * (top + f64.log share)
  -- What each component is responsible for.
  let r = map2 (\es total -> let f = seed / total in map (* f) es) exps totals
  let weight = map f64.sum (transpose r)
  let w = map2 (map2 (\r z -> let f = -r in map (* f) z)) r z
  let centres' = map (\c -> map (\r -> 0 - f64.sum (map (\i -> w[i, c, r]) (iota n))) (iota d)) (iota k)
  let qs' =
    map (\c -> map (\r -> map (\j -> f64.sum (map (\i -> w[i, c, r] * x[i, j]) (iota n)) + centres'[c, r] * mu[c, j]) (iota d))
                   (iota d))
        (iota k)
  let mu' = map2 (\q c -> map (\j -> f64.sum (map (\r -> q[r, j] * c[r]) (iota d))) (iota d)) qs centres'
  let factor = seed * f64.i64 n / share
  let alpha' = map2 (\weight share -> weight - factor * share) weight shares
  let q' = map3 (\weight q' q -> map (\i -> weight + q'[i, i] * q[i, i]) (iota d)) weight qs' qs
  let place p =
    (loop (j, start) = (0, 0) while p >= start + d - 1 - j do (j + 1, start + d - 1 - j)) |> \(j, start) -> (p - start + j + 1, j)
  let l' = map (\q' -> map (\p -> let (i, j) = place p in q'[i, j]) (iota t)) qs'
  in (value, alpha', mu', q', l')
