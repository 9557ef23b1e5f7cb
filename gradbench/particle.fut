-- A particle flies past two charges, one of them movable: where must that be for the particle to land at the origin? Euler's method
-- with the force as a gradient of the potential, inside a descent by the gradient of where the flight ends.
-- The entry points name the modes of the outer and the inner derivative: reverse or forward.
-- ==
-- entry: rr ff fr rf
-- input { 0.0 } output { 0.2071918746486116 }

import "descent"

-- | The square of how far from the origin the particle crosses the axis.
def miss (gradient: (vector -> f64) -> vector -> (f64, vector)) (w: f64): f64 =
  let inverse_distance (x, y) (a, b) = 1 / norm (x - a, y - b)
  let potential x = inverse_distance x (10, 10 - w) + inverse_distance x (10, 0)
  let dt = 0.1
  let (x, v) = loop (x: vector, v: vector) = ((0, 8), (0.75, 0)) while x.1 + dt * v.1 > 0 do
    (along x dt v, along v (-dt) (gradient potential x).1)
  let landing = along x (-x.1 / v.1) v
  in landing.0 ** 2

entry rr (w: f64): f64 = argmin line reverse_line (miss reverse_plane) w
entry ff (w: f64): f64 = argmin line forward_line (miss forward_plane) w
entry fr (w: f64): f64 = argmin line forward_line (miss reverse_plane) w
entry rf (w: f64): f64 = argmin line reverse_line (miss forward_plane) w
