-- A particle flies past two charges, one of them movable: where must that be for the particle to land at the origin? Euler's method
-- with the force as a gradient of the potential, inside a descent by the gradient of where the flight ends.
-- The entry points name the modes of the outer and the inner derivative: reverse or forward.
-- ==
-- entry: rr ff fr rf
-- input { 0.0 } output { 0.2071918746486116 }

import "descent"

type vector = [2]f64

def distance (a: vector) (b: vector): f64 = f64.sqrt ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2)

def along (a: vector) (step: f64) (b: vector): vector = [a[0] + step * b[0], a[1] + step * b[1]]

-- | The square of how far from the origin the particle crosses the axis.
def miss (gradient: (vector -> f64) -> vector -> vector) (w: f64): f64 =
  let charges: [2]vector = [[10, 10 - w], [10, 0]]
  let potential x = f64.sum (map (\c -> 1 / distance x c) charges)
  let dt = 0.1
  let (x, v) = loop (x, v) = ([0, 8], [0.75, 0]) while x[1] + dt * v[1] > 0 do
    (along x dt v, along v (-dt) (gradient potential x))
  let landing = along x (-x[1] / v[1]) v
  in landing[0] ** 2

def best (outer: ([1]f64 -> f64) -> [1]f64 -> [1]f64) (inner: (vector -> f64) -> vector -> vector) (w: f64): f64 =
  (argmin outer (\w -> miss inner w[0]) [w])[0]

entry rr (w: f64): f64 = best gradient_reverse gradient_reverse w
entry ff (w: f64): f64 = best gradient_forward gradient_forward w
entry fr (w: f64): f64 = best gradient_forward gradient_reverse w
entry rf (w: f64): f64 = best gradient_reverse gradient_forward w
