-- Logistic regression: the negative log likelihood of labels under a linear model, its gradient and a Hessian-vector product.
-- Expected values: JAX.
-- ==
-- entry: loss
-- input { [0.5, -1.0] [[1.0, 2.0], [-1.0, 0.5], [0.5, -1.5]] [1.0, 0.0, 1.0] }
-- output { 2.1748991159390627 }

-- ==
-- entry: gradient
-- input { [0.5, -1.0] [[1.0, 2.0], [-1.0, 0.5], [0.5, -1.5]] [1.0, 0.0, 1.0] }
-- output { [-1.1605394965794835, -1.2786074446547555] }

-- ==
-- entry: curvature
-- input { [0.5, -1.0] [[1.0, 2.0], [-1.0, 0.5], [0.5, -1.5]] [1.0, 0.0, 1.0] [1.0, 0.0] }
-- output { [0.3772906916084785, 0.10539001862993339] }

def dot [n] (a: [n]f64) (b: [n]f64): f64 = f64.sum (map2 (*) a b)

-- | log (1 + exp z) without overflow.
def softplus (z: f64): f64 = f64.max z 0 + f64.log1p (f64.exp (-f64.abs z))

entry loss [n][d] (weights: [d]f64) (features: [n][d]f64) (labels: [n]f64): f64 =
  f64.sum (map2 (\x y -> let z = dot weights x in softplus z - y * z) features labels)

entry gradient [n][d] (weights: [d]f64) (features: [n][d]f64) (labels: [n]f64): [d]f64 =
  grad (\w -> loss w features labels) weights

entry curvature [n][d] (weights: [d]f64) (features: [n][d]f64) (labels: [n]f64) (direction: [d]f64): [d]f64 =
  hvp (\w -> loss w features labels) weights direction
