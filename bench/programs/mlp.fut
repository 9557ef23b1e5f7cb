-- A network with one hidden layer of rectifiers: mean cross entropy of a batch, and its gradient in weights and biases.
-- Expected values: equal scores for two classes.
-- ==
-- entry: primal
-- input { [[1.0]] [1.0] [[1.0, 1.0]] [0.0, 0.0] [[2.0]] [[1.0, 0.0]] } output { 0.6931471805599453 }

-- ==
-- entry: gradient
-- input { [[1.0]] [1.0] [[1.0, 1.0]] [0.0, 0.0] [[2.0]] [[1.0, 0.0]] } output { [[0.0]] [0.0] [[-1.5, 1.5]] [-0.5, 0.5] }

def matmul [m][k][n] (a: [m][k]f64) (b: [k][n]f64): [m][n]f64 =
  map (\row -> map (\column -> f64.sum (map2 (*) row column)) (transpose b)) a

def layer [m][k][n] (x: [m][k]f64) (w: [k][n]f64) (b: [n]f64): [m][n]f64 = map (map2 (+) b) (matmul x w)

def log_sum_exp [n] (x: [n]f64): f64 =
  let largest = f64.maximum x
  in largest + f64.log (f64.sum (map (\v -> f64.exp (v - largest)) x))

def loss [m][d][h][o] (w1: [d][h]f64) (b1: [h]f64) (w2: [h][o]f64) (b2: [o]f64) (x: [m][d]f64) (y: [m][o]f64): f64 =
  let hidden = map (map (\z -> f64.max z 0)) (layer x w1 b1)
  let scores = layer hidden w2 b2
  let of_point s t = let all = log_sum_exp s in f64.sum (map2 (\s t -> t * (all - s)) s t)
  in f64.sum (map2 of_point scores y) / f64.i64 m

entry primal [m][d][h][o] (w1: [d][h]f64) (b1: [h]f64) (w2: [h][o]f64) (b2: [o]f64) (x: [m][d]f64) (y: [m][o]f64): f64 =
  loss w1 b1 w2 b2 x y

entry gradient [m][d][h][o] (w1: [d][h]f64) (b1: [h]f64) (w2: [h][o]f64) (b2: [o]f64) (x: [m][d]f64) (y: [m][o]f64) =
  grad (\(w1, b1, w2, b2) -> loss w1 b1 w2 b2 x y) (w1, b1, w2, b2)
