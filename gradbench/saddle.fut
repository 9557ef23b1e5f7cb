-- The saddle point of |p|² - |q|²: descent in p of an ascent in q, with the derivative of one nested in that of the other.
-- The entry points name the modes of the outer and the inner derivative: reverse or forward.
-- ==
-- entry: rr ff fr rf
-- input { [1.0, 1.0] }
-- output { [8.246324826140356e-06, 8.246324826140356e-06, 8.246324826140356e-06, 8.246324826140356e-06] }

import "descent"

type gradient = ([2]f64 -> f64) -> [2]f64 -> [2]f64

def square (p: [2]f64): f64 = p[0] * p[0] + p[1] * p[1]

def saddle (outer: gradient) (inner: gradient) (start: [2]f64): [4]f64 =
  let f p q = square p - square q
  let highest p = argmin inner (\q -> -(f p q)) start
  let p = argmin outer (\p -> f p (highest p)) start
  in p ++ highest p :> [4]f64

entry rr (start: [2]f64): [4]f64 = saddle gradient_reverse gradient_reverse start
entry ff (start: [2]f64): [4]f64 = saddle gradient_forward gradient_forward start
entry fr (start: [2]f64): [4]f64 = saddle gradient_forward gradient_reverse start
entry rf (start: [2]f64): [4]f64 = saddle gradient_reverse gradient_forward start
