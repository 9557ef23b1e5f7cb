-- Lu.

def lu [n] (a: *[n][n]f64) : [n][n]f64 =
  loop a for k < n do
    let a = loop a for i in k+1..<n do a with [i,k] = a[i,k] / a[k,k]
    in loop a for i in k+1..<n do
         loop a for j in k+1..<n do
           a with [i,j] = a[i,j] - a[i,k] * a[k,j]

-- ==
-- entry: main
-- input { [[4.0,3.0],[6.0,3.0]] } output { [[4.0,3.0],[1.5,-1.5]] }
entry main [n] (a: [n][n]f64) = lu (copy a)
def chol [n] (a: [n][n]f64) =
  loop l = replicate n (replicate n 0.0) for i < n do
    loop l for j < i + 1 do
      let s = f64.sum (map2 (*) l[i,:j] l[j,:j])
      in if i == j then l with [i,i] = f64.sqrt (a[i,i] - s) else l with [i,j] = (a[i,j] - s) / l[j,j]

-- ==
-- entry: cholesky
-- input { [[4.0,2.0],[2.0,5.0]] } output { [[2.0,0.0],[1.0,2.0]] }
entry cholesky [n] (a: [n][n]f64) = chol a
