-- A Gaussian mixture with full covariances: the log likelihood of points with a Wishart prior, and its gradient.
--
-- The inverse of a covariance is QᵀQ with Q lower triangular: the exponentials of `q` on the diagonal, `l` below it column by column.
-- Expected values: one component with Q = 1 and mean 0 at the point (1, 2): -log 2π - 5/2; prior 6 log (1/√2) - log Γ₂(3/2) - 1, with
-- Γ₂(3/2) = π/2.
-- ==
-- entry: objective
-- input { [[1.0, 2.0]] 0i64 1.0 [0.0] [[0.0, 0.0]] [[0.0, 0.0]] [[0.0]] }
-- output { -7.868901313378636 }

-- ==
-- entry: jacobian
-- input { [[1.0, 2.0]] 0i64 1.0 [0.0] [[0.0, 0.0]] [[0.0, 0.0]] [[0.0]] }
-- output { [0.0] [[-2.0]] [[1.0, 2.0]] [[-1.0, -4.0]] }

def log_sum_exp [n] (x: [n]f64): f64 =
  let largest = f64.maximum x
  in largest + f64.log (f64.sum (map (\v -> f64.exp (v - largest)) x))

def dot [n] (a: [n]f64) (b: [n]f64): f64 = f64.sum (map2 (*) a b)

def triangular [d][t] (q: [d]f64) (l: [t]f64): [d][d]f64 =
  tabulate_2d d d (\i j -> if i == j then f64.exp q[i]
                           else if i > j then l[j * (2 * d - j - 1) / 2 + i - j - 1]
                           else 0)

-- | The logarithm of the multivariate gamma function.
def log_gamma (d: i64) (a: f64): f64 =
  f64.i64 (d * (d - 1)) / 4 * f64.log f64.pi + f64.sum (tabulate d (\j -> f64.lgamma (a - f64.i64 j / 2)))

entry objective [n][k][d][t]
    (x: [n][d]f64) (m: i64) (gamma: f64) (alpha: [k]f64) (mu: [k][d]f64) (q: [k][d]f64) (l: [k][t]f64): f64 =
  let qs = map2 triangular q l
  let sums = map f64.sum q
  let centres = map2 (\q mu -> map (dot mu) q) qs mu
  let of_component x alpha centre q sum =
    alpha + sum - 0.5 * f64.sum (map2 (\row c -> (dot row x - c) ** 2) q centre)
  let of_point x = log_sum_exp (map4 (of_component x) alpha centres qs sums)
  let likelihood =
    f64.sum (map of_point x) - f64.i64 n * (f64.i64 d / 2 * f64.log (2 * f64.pi) + log_sum_exp alpha)
  let nu = f64.i64 (d + m + 1)
  let of_parameters q sum = f64.i64 m * sum - 0.5 * gamma * gamma * f64.sum (map (\row -> dot row row) q)
  let prior =
    f64.sum (map2 of_parameters qs sums)
    + f64.i64 k * (nu * f64.i64 d * f64.log (gamma / f64.sqrt 2) - log_gamma d (nu / 2))
  in likelihood + prior

entry jacobian [n][k][d][t]
    (x: [n][d]f64) (m: i64) (gamma: f64) (alpha: [k]f64) (mu: [k][d]f64) (q: [k][d]f64) (l: [k][t]f64)
    : {alpha: [k]f64, mu: [k][d]f64, q: [k][d]f64, l: [k][t]f64} =
  grad (\{alpha, mu, q, l} -> objective x m gamma alpha mu q l) {alpha, mu, q, l}
