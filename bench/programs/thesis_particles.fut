-- Particles in a force field -p / (1 + |p|²) with friction; the sum of x y over their last places, and its gradient in first places and
-- speeds. A particle is [x, y, u, v].
-- Expected values: without forces or speed nothing moves.
-- ==
-- entry: primal
-- input { 0i64 [[2.0, 3.0, 1.0, 1.0], [5.0, 7.0, 0.0, 0.0]] } output { 41.0 }

-- ==
-- entry: gradient
-- input { 0i64 [[2.0, 3.0, 1.0, 1.0], [5.0, 7.0, 0.0, 0.0]] } output { [[3.0, 2.0, 0.0, 0.0], [7.0, 5.0, 0.0, 0.0]] }

def move (steps: i64) (p: [4]f64): f64 =
  let (x, y, _, _) =
    loop (x, y, u, v) = (p[0], p[1], p[2], p[3]) for _i < steps do
      let pull = 1 / (1 + x * x + y * y)
      let u = u + 0.01 * (-x * pull - 0.1 * u)
      let v = v + 0.01 * (-y * pull - 0.1 * v)
      in (x + 0.01 * u, y + 0.01 * v, u, v)
  in x * y

entry primal [n] (steps: i64) (particles: [n][4]f64): f64 = f64.sum (map (move steps) particles)

entry gradient [n] (steps: i64) (particles: [n][4]f64): [n][4]f64 = grad (primal steps) particles
