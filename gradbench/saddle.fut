-- The saddle point of |p|² - |q|²: descent in p of an ascent in q, with the derivative of one nested in that of the other.
-- The entry points name the modes of the outer and the inner derivative: reverse or forward.
-- ==
-- entry: rr ff fr rf
-- input { [1.0, 1.0] }
-- output { [8.246324826140356e-06, 8.246324826140356e-06, 8.246324826140356e-06, 8.246324826140356e-06] }

import "descent"

type gradient = (vector -> f64) -> vector -> vector

def square (x: f64, y: f64): f64 = x * x + y * y

def saddle (outer: gradient) (inner: gradient) (start: [2]f64): [4]f64 =
  let start = (start[0], start[1])
  let f p q = square p - square q
  let highest p = argmin plane inner (\q -> -(f p q)) start
  let p = argmin plane outer (\p -> f p (highest p)) start
  let q = highest p
  in [p.0, p.1, q.0, q.1]

entry rr (start: [2]f64): [4]f64 = saddle reverse_plane reverse_plane start
entry ff (start: [2]f64): [4]f64 = saddle forward_plane forward_plane start
entry fr (start: [2]f64): [4]f64 = saddle forward_plane reverse_plane start
entry rf (start: [2]f64): [4]f64 = saddle reverse_plane forward_plane start
