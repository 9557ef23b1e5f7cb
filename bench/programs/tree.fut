-- A binary tree in heap order: the value of an inner node is w l + (1 - w) √(1 + r²) of those of its subtrees, that of a leaf is w.
-- ==
-- entry: primal
-- input { [0.5, 1.0, 0.75] } output { 1.125 }

-- ==
-- entry: gradient
-- input { [0.5, 1.0, 0.75] } output { [-0.25, 0.5, 0.3] }

def value [n] (w: [n]f64) (i: i64): f64 =
  if 2 * i + 1 >= n
  then w[i]
  else let l = value w (2 * i + 1)
       let r = value w (2 * i + 2)
       in w[i] * l + (1 - w[i]) * f64.sqrt (1 + r * r)

entry primal [n] (w: [n]f64): f64 = value w 0

entry gradient [n] (w: [n]f64): [n]f64 = grad primal w
