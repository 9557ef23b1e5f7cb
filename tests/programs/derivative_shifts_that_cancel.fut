-- Shifts that cancel, one that does not, and what is the same for every row: gradients, Jacobians, Hessians.
-- Expected values: JAX.
-- ==
-- entry: log_sum_exp
-- input { [0.5, -1.0, 2.0] }
-- output { 2.241311296657157 [0.1752903921400367, 0.039112573270687456, 0.7855970345892759]
-- [[0.14456367056342886, -0.006856058306224722, -0.13770761225720415],
-- [-0.006856058306224722, 0.03758277988283256, -0.030726721576607843],
-- [-0.13770761225720415, -0.030726721576607843, 0.1684343338338119]] }
-- input { [1000.0, 1000.0] }
-- output { 1000.6931471805599 [0.5, 0.5] [[0.25, -0.25], [-0.25, 0.25]] }

-- ==
-- entry: softmax
-- input { [0.5, -1.0, 2.0] }
-- output { [[0.14456367056342884, -0.006856058306224722, -0.13770761225720415],
-- [-0.006856058306224722, 0.03758277988283256, -0.030726721576607843],
-- [-0.13770761225720415, -0.030726721576607843, 0.1684343338338119]] }

-- ==
-- entry: below_the_top
-- input { [0.5, -1.0, 2.0] }
-- output { 1.2729172285162937 [0.22313016014842982, 0.049787068367863944, -0.27291722851629374] }

-- ==
-- entry: scaled
-- input { [0.1, -0.3] [1.0, 2.0, -0.5] }
-- output { [-8.596672907318808, -19.132247404100344] [5.281699106936982, 10.563398213873963, -2.640849553468491]
-- [[17.193345814637617, 0.0], [0.0, 38.26449480820068]] }

def lse [n] (xs: [n]f64): f64 =
  let top = f64.maximum xs
  in top + f64.log (f64.sum (map (\x -> f64.exp (x - top)) xs))

entry log_sum_exp [n] (xs: [n]f64): (f64, [n]f64, [n][n]f64) =
  (lse xs, grad lse xs, hessian lse xs)

def shares [n] (xs: [n]f64): [n]f64 =
  let top = f64.maximum xs
  let es = map (\x -> f64.exp (x - top)) xs
  let total = f64.sum es
  in map (/ total) es

entry softmax [n] (xs: [n]f64): [n][n]f64 = jacrev shares xs

-- Here the maximum matters.
def sum_below [n] (xs: [n]f64): f64 =
  let top = f64.maximum xs
  in f64.sum (map (\x -> f64.exp (x - top)) xs)

entry below_the_top [n] (xs: [n]f64): (f64, [n]f64) = (sum_below xs, grad sum_below xs)

def scale [n][m] (ss: [m]f64) (xs: [n]f64): f64 = f64.sum (map (\x -> f64.sum (map (\s -> (x / f64.exp s) ** 2) ss)) xs)

entry scaled [n][m] (ss: [m]f64) (xs: [n]f64) =
  let (by_ss, by_xs) = grad (\(ss, xs) -> scale ss xs) (ss, xs)
  in (by_ss, by_xs, hessian (\ss -> scale ss xs) ss)
