-- Prices of European calls, and their derivatives in spot, strike, rate, volatility and time.
-- Expected values: closed form.
-- ==
-- entry: primal
-- input { [100.0] [100.0] [0.05] [0.2] [1.0] } output { [10.450583572185565] }

-- ==
-- entry: gradient
-- input { [100.0] [100.0] [0.05] [0.2] [1.0] }
-- output { [0.6368306511756191] [-0.532324815453763] [53.2324815453763] [37.52403469169379] [6.414027546438197] }

def normal (x: f64): f64 = 0.5 * f64.erfc (-x / f64.sqrt 2)

def call (s: f64) (k: f64) (r: f64) (v: f64) (t: f64): f64 =
  let d1 = (f64.log (s / k) + (r + 0.5 * v * v) * t) / (v * f64.sqrt t)
  let d2 = d1 - v * f64.sqrt t
  in s * normal d1 - k * f64.exp (-r * t) * normal d2

entry primal [n] (s: [n]f64) (k: [n]f64) (r: [n]f64) (v: [n]f64) (t: [n]f64): [n]f64 = map5 call s k r v t

entry gradient [n] (s: [n]f64) (k: [n]f64) (r: [n]f64) (v: [n]f64) (t: [n]f64) =
  unzip5 (map5 (\s k r v t -> grad (\(s, k, r, v, t) -> call s k r v t) (s, k, r, v, t)) s k r v t)
