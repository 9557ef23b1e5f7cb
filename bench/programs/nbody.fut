-- One step of bodies under softened gravity, the energy after it, and its gradient in places and speeds.
-- Expected values: one body, whose energy is 14 - 20 with its own softened potential.
-- ==
-- entry: primal
-- input { [0.0] [0.0] [0.0] [1.0] [2.0] [3.0] [2.0] } output { -6.0 }

-- ==
-- entry: gradient
-- input { [0.0] [0.0] [0.0] [1.0] [2.0] [3.0] [2.0] } output { [0.0] [0.0] [0.0] [2.0] [4.0] [6.0] }

type vector = (f64, f64, f64)

def minus (a: vector) (b: vector): vector = (a.0 - b.0, a.1 - b.1, a.2 - b.2)
def square (a: vector): f64 = a.0 * a.0 + a.1 * a.1 + a.2 * a.2
-- | a + s b
def add_scaled (a: vector) (s: f64) (b: vector): vector = (a.0 + s * b.0, a.1 + s * b.1, a.2 + s * b.2)

def soft: f64 = 0.01
def time: f64 = 0.01

def total [n] (vs: [n]vector): vector =
  let (xs, ys, zs) = unzip3 vs
  in (f64.sum xs, f64.sum ys, f64.sum zs)

def energy [n] (m: [n]f64) (x: [n]vector) (v: [n]vector): f64 =
  let potential p = f64.sum (map2 (\m q -> m / f64.sqrt (square (minus q p) + soft)) m x)
  in f64.sum (map3 (\m x v -> 0.5 * m * (square v - potential x)) m x v)

def after_step [n] (m: [n]f64) (x: [n]vector) (v: [n]vector): f64 =
  let pull p (m: f64) q =
    let d = minus q p
    let r = square d + soft
    in add_scaled (0, 0, 0) (m / (r * f64.sqrt r)) d
  let v = map2 (\p v -> add_scaled v time (total (map2 (pull p) m x))) x v
  let x = map2 (\x v -> add_scaled x time v) x v
  in energy m x v

entry primal [n] (x: [n]f64) (y: [n]f64) (z: [n]f64) (u: [n]f64) (v: [n]f64) (w: [n]f64) (m: [n]f64): f64 =
  after_step m (zip3 x y z) (zip3 u v w)

entry gradient [n] (x: [n]f64) (y: [n]f64) (z: [n]f64) (u: [n]f64) (v: [n]f64) (w: [n]f64) (m: [n]f64) =
  grad (\(x, y, z, u, v, w) -> primal x y z u v w m) (x, y, z, u, v, w)
