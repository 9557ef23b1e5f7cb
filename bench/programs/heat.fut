-- The heat equation on a grid with a fixed border; half the squared distance to a target after some steps, and its gradient in the first
-- state.
-- ==
-- entry: primal
-- input { 1i64 [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]] [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]] } output { 0.52 }

-- ==
-- entry: gradient
-- input { 1i64 [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]] [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]] }
-- output { [[0.0, 1.04, 0.0], [0.04, 0.04, 0.04], [0.0, 0.04, 0.0]] }

def step [n] (u: [n][n]f64): [n][n]f64 =
  tabulate_2d n n (\i j ->
    if i == 0 || j == 0 || i == n - 1 || j == n - 1
    then u[i, j]
    else u[i, j] + 0.2 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j]))

entry primal [n] (steps: i64) (start: [n][n]f64) (target: [n][n]f64): f64 =
  let u = loop u = start for _i < steps do step u
  in 0.5 * f64.sum (map2 (\a b -> (a - b) * (a - b)) (flatten u) (flatten target))

entry gradient [n] (steps: i64) (start: [n][n]f64) (target: [n][n]f64): [n][n]f64 = grad (\u -> primal steps u target) start
