-- A signal against a kernel at all places where the kernel is inside, and the cotangents of both for one of the result.
-- ==
-- entry: primal
-- input { [1.0, 2.0, 3.0] [10.0, 1.0] [1.0, 100.0] } output { [12.0, 23.0] }

-- ==
-- entry: gradient
-- input { [1.0, 2.0, 3.0] [10.0, 1.0] [1.0, 100.0] } output { [10.0, 1001.0, 100.0] [201.0, 302.0] }

def convolution [n][k] (signal: [n]f64) (kernel: [k]f64) (m: i64): [m]f64 =
  tabulate m (\i -> f64.sum (tabulate k (\j -> signal[i + j] * kernel[j])))

entry primal [n][k][m] (signal: [n]f64) (kernel: [k]f64) (_y_ct: [m]f64): [m]f64 = convolution signal kernel m

entry gradient [n][k][m] (signal: [n]f64) (kernel: [k]f64) (y_ct: [m]f64): ([n]f64, [k]f64) =
  vjp (\(signal, kernel) -> convolution signal kernel m) (signal, kernel) y_ct
