-- A Gaussian mixture with full covariances and a prior: the log likelihood, and its gradient in weights, means and factors. The factor of
-- a component has exp q on its diagonal and l below it, row by row.
-- Expected values: one component with factor 1 and mean 0 at the point (1, 2): -log 2π - 5/2, and 1 for the prior.
-- ==
-- entry: primal
-- input { [[1.0, 2.0]] [0.0] [[0.0, 0.0]] [[0.0, 0.0]] [[0.0]] } output { -5.337877066409345 }

-- ==
-- entry: gradient
-- input { [[1.0, 2.0]] [0.0] [[0.0, 0.0]] [[0.0, 0.0]] [[0.0]] } output { [0.0] [[1.0, 2.0]] [[-1.0, -4.0]] [[-2.0]] }

def log_sum_exp [n] (x: [n]f64): f64 =
  let largest = f64.maximum x
  in largest + f64.log (f64.sum (map (\v -> f64.exp (v - largest)) x))

def dot [n] (a: [n]f64) (b: [n]f64): f64 = f64.sum (map2 (*) a b)

def triangular [d][t] (q: [d]f64) (l: [t]f64): [d][d]f64 =
  tabulate_2d d d (\i j -> if i == j then f64.exp q[i] else if i > j then l[i * (i - 1) / 2 + j] else 0)

entry primal [n][k][d][t] (x: [n][d]f64) (alpha: [k]f64) (mu: [k][d]f64) (q: [k][d]f64) (l: [k][t]f64): f64 =
  let factors = map2 triangular q l
  let sums = map f64.sum q
  let of_component x alpha mu factor sum =
    let centred = map2 (-) x mu
    let y = map (dot centred) factor
    in alpha + sum - 0.5 * dot y y
  let of_point x = log_sum_exp (map4 (of_component x) alpha mu factors sums)
  let prior = f64.sum (map (\factor -> f64.sum (map (\row -> dot row row) factor)) factors)
  in f64.sum (map of_point x) - f64.i64 n * (0.5 * f64.i64 d * f64.log (2 * f64.pi) + log_sum_exp alpha) - 0.5 * prior

entry gradient [n][k][d][t] (x: [n][d]f64) (alpha: [k]f64) (mu: [k][d]f64) (q: [k][d]f64) (l: [k][t]f64) =
  grad (\(alpha, mu, q, l) -> primal x alpha mu q l) (alpha, mu, q, l)
