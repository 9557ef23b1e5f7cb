-- A Gaussian mixture with diagonal covariances: log likelihood of points and its gradient in weights, means and log deviations.
-- Expected values: JAX.
-- ==
-- entry: log_likelihood
-- input { [0.2, -0.3] [[0.0, 1.0], [2.0, -1.0]] [[0.1, -0.2], [0.0, 0.3]] [[0.5, 0.5], [1.5, -0.5], [-1.0, 1.0]] }
-- output { -8.134240017301927 }

-- ==
-- entry: gradient
-- input { [0.2, -0.3] [[0.0, 1.0], [2.0, -1.0]] [[0.1, -0.2], [0.0, 0.3]] [[0.5, 0.5], [1.5, -0.5], [-1.0, 1.0]] }
-- output { [0.22514324882394132, -0.2251432488239411]
-- [[-0.2200560218345503, -1.0874786628994957], [-0.546180483122516, 0.29850757393095656]]
-- [[-0.7542532829414674, -1.1424849109094812], [-0.48723603223848383, -0.6830578129951076]] }

def log_sum_exp [n] (xs: [n]f64): f64 =
  let m = f64.maximum xs
  in m + f64.log (f64.sum (map (\x -> f64.exp (x - m)) xs))

-- | log of a normal density with independent components, up to the constant that all components share.
def log_density [d] (mean: [d]f64) (log_deviation: [d]f64) (x: [d]f64): f64 =
  f64.sum (map3 (\m s v -> let z = (v - m) / f64.exp s in -0.5 * z * z - s) mean log_deviation x)

entry log_likelihood [n][k][d] (logits: [k]f64) (means: [k][d]f64) (log_deviations: [k][d]f64) (points: [n][d]f64): f64 =
  let weights = map (\l -> l - log_sum_exp logits) logits
  let constant = 0.5 * f64.i64 d * f64.log (2 * f64.pi)
  let of_point x = log_sum_exp (map3 (\w m s -> w + log_density m s x) weights means log_deviations) - constant
  in f64.sum (map of_point points)

entry gradient [n][k][d] (logits: [k]f64) (means: [k][d]f64) (log_deviations: [k][d]f64) (points: [n][d]f64) =
  grad (\(l, m, s) -> log_likelihood l m s points) (logits, means, log_deviations)
