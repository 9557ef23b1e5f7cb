-- | Gradient descent for functions of few numbers. Value and gradient together come from whatever the caller differentiates with.

-- | What descent needs of a space: the length of a vector, and a vector plus a multiple of another.
type^ space 'v = {norm: v -> f64, along: v -> f64 -> v -> v}

def line: space f64 = {norm = f64.abs, along = \x step y -> x + step * y}

type vector = (f64, f64)

def norm (x: f64, y: f64): f64 = f64.sqrt (x * x + y * y)

def along (x: f64, y: f64) (step: f64) (a: f64, b: f64): vector = (x + step * a, y + step * b)

def plane: space vector = {norm, along}

-- | Where `f` is least. The step doubles after ten successes in a row and halves after a failure; the search ends where the
-- gradient, or the step, is nothing.
def argmin 'v (space: space v) (gradient: (v -> f64) -> v -> (f64, v)) (f: v -> f64) (start: v): v =
  let epsilon = 1e-5
  let (x, _, _, _, _) =
    loop (x, (value, slope), eta, successes, going) = (start, gradient f start, 1e-5, 0i64, true) while going do
      if space.norm slope <= epsilon then (x, (value, slope), eta, successes, false)
      else if successes == 10 then (x, (value, slope), 2 * eta, 0, true)
      else let next = space.along x (-eta) slope
           in if space.norm (space.along x (-1) next) <= epsilon then (x, (value, slope), eta, successes, false)
              else let there = gradient f next
                   in if there.0 < value then (next, there, eta, successes + 1, true)
                      else (x, (value, slope), eta / 2, 0, true)
  in x

def reverse_line (f: f64 -> f64) (x: f64): (f64, f64) = vjp2 f x 1
def forward_line (f: f64 -> f64) (x: f64): (f64, f64) = jvp2 f x 1
def reverse_plane (f: vector -> f64) (x: vector): (f64, vector) = vjp2 f x 1
def forward_plane (f: vector -> f64) (x: vector): (f64, vector) =
  let (value, a) = jvp2 f x (1, 0)
  in (value, (a, jvp f x (0, 1)))
