-- Fitting an ordinary differential equation: the Lotka-Volterra model is integrated with the classical Runge-Kutta method, and the
-- distance of its end point from an observation is differentiated in the four rates.
-- Expected values: JAX.
-- ==
-- entry: misfit
-- input { 1.1 0.4 0.1 0.4 100i64 }
-- output { 14.343162902196635 }

-- ==
-- entry: gradient gradient_forward
-- input { 1.1 0.4 0.1 0.4 100i64 }
-- output { -15.726297406592643 90.32879994873556 -64.08093523350989 31.72222272656062 }

type rates = (f64, f64, f64, f64)

def field ((growth, eaten, fed, death): rates) (prey: f64, hunter: f64): (f64, f64) =
  (growth * prey - eaten * prey * hunter, fed * prey * hunter - death * hunter)

-- | One step of fourth order for any field over pairs.
def runge_kutta (f: (f64, f64) -> (f64, f64)) (h: f64) (x: f64, y: f64): (f64, f64) =
  let along (dx, dy) t = (x + t * dx, y + t * dy)
  let k1 = f (x, y)
  let k2 = f (along k1 (h / 2))
  let k3 = f (along k2 (h / 2))
  let k4 = f (along k3 h)
  in (x + h / 6 * (k1.0 + 2 * k2.0 + 2 * k3.0 + k4.0), y + h / 6 * (k1.1 + 2 * k2.1 + 2 * k3.1 + k4.1))

def end_point (r: rates) (steps: i64): (f64, f64) =
  let h = 2 / f64.i64 steps
  in loop s = (10, 5) for _i < steps do runge_kutta (field r) h s

def misfit_of (steps: i64) (r: rates): f64 =
  let (prey, hunter) = end_point r steps
  in (prey - 3) ** 2 + (hunter - 8) ** 2

entry misfit (growth: f64) (eaten: f64) (fed: f64) (death: f64) (steps: i64): f64 =
  misfit_of steps (growth, eaten, fed, death)

entry gradient (growth: f64) (eaten: f64) (fed: f64) (death: f64) (steps: i64): rates =
  grad (misfit_of steps) (growth, eaten, fed, death)

entry gradient_forward (growth: f64) (eaten: f64) (fed: f64) (death: f64) (steps: i64): rates =
  let along = jvp (misfit_of steps) (growth, eaten, fed, death)
  in (along (1, 0, 0, 0), along (0, 1, 0, 0), along (0, 0, 1, 0), along (0, 0, 0, 1))
