-- A binary tree in heap order: the value of an inner node is w l + (1 - w) √(1 + r²) of those of its subtrees, that of a leaf is w.
-- ==
-- entry: primal
-- input { [0.5, 1.0, 0.75] } output { 1.125 }

-- ==
-- entry: gradient
-- input { [0.5, 1.0, 0.75] } output { [-0.25, 0.5, 0.3] }

def combine (w: f64) (l: f64) (r: f64): f64 = w * l + (1 - w) * f64.sqrt (1 + r * r)

def value [n] (w: [n]f64) (i: i64): f64 =
  if 2 * i + 1 >= n
  then w[i]
  else let l = value w (2 * i + 1)
       let r = value w (2 * i + 2)
       in combine w[i] l r

-- The two subtrees of the root at the same time.
entry primal [n] (w: [n]f64): f64 =
  if n < 3
  then w[0]
  else let (l, r) = par (value w 1) (value w 2)
       in combine w[0] l r

entry gradient [n] (w: [n]f64): [n]f64 = grad primal w
