-- The saddle point of |p|² - |q|²: descent in p of an ascent in q, with the derivative of one nested in that of the other.
-- The entry points name the modes of the outer and the inner derivative: reverse or forward.
-- ==
-- entry: rr ff fr rf
-- input { [1.0, 1.0] }
-- output { [8.246324826140356e-06, 8.246324826140356e-06, 8.246324826140356e-06, 8.246324826140356e-06] }

import "descent"

type gradient = (vector -> f64) -> vector -> (f64, vector)

def f (p: vector) (q: vector): f64 =
  let square (x, y) = x * x + y * y
  in square p - square q

def highest (inner: gradient) (start: vector) (p: vector): vector = argmin plane inner (\q -> -(f p q)) start

def saddle (outer: gradient) (inner: gradient) (start: [2]f64): [4]f64 =
  let start = (start[0], start[1])
  let p = argmin plane outer (\p -> f p (highest inner start p)) start
  let q = highest inner start p
  in [p.0, p.1, q.0, q.1]

entry rr (start: [2]f64): [4]f64 = saddle reverse_plane reverse_plane start
entry ff (start: [2]f64): [4]f64 = saddle forward_plane forward_plane start
entry fr (start: [2]f64): [4]f64 = saddle forward_plane reverse_plane start
entry rf (start: [2]f64): [4]f64 = saddle reverse_plane forward_plane start
