-- The classical Runge-Kutta method on y_0' = x_0, y_i' = x_i y_(i-1) from y = 0 over two units of time, and the gradient of the last
-- component. Expected values: with x = (a, b) and enough order, y = (2a, 2ab).
-- ==
-- entry: primal
-- input { [0.5, 1.5] 1i64 } output { [1.0, 1.5] }
-- input { [0.5, 1.5] 7i64 } output { [1.0, 1.5] }

-- ==
-- entry: gradient
-- input { [0.5, 1.5] 1i64 } output { [3.0, 1.0] }
-- input { [0.5, 1.5] 7i64 } output { [3.0, 1.0] }

def slope [n] (x: [n]f64) (y: [n]f64): [n]f64 =
  tabulate n (\i -> x[i] * if i == 0 then 1 else y[i - 1])

entry primal [n] (x: [n]f64) (s: i64): [n]f64 =
  let h = 2 / f64.i64 s
  let along y k step = map2 (\y k -> y + step * k) y k
  in loop y = replicate n 0 for _i < s do
       let k1 = slope x y
       let k2 = slope x (along y k1 (h / 2))
       let k3 = slope x (along y k2 (h / 2))
       let k4 = slope x (along y k3 h)
       in map5 (\y k1 k2 k3 k4 -> y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)) y k1 k2 k3 k4

entry gradient [n] (x: [n]f64) (s: i64): [n]f64 = grad (\x -> last (primal x s)) x
