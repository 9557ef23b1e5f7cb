-- | Gradient descent for functions of a few numbers. The gradient is whatever the caller differentiates with.

def norm [n] (v: [n]f64): f64 = f64.sqrt (f64.sum (map (\x -> x * x) v))

def gradient_reverse [n] (f: [n]f64 -> f64) (x: [n]f64): [n]f64 = vjp f x 1

def gradient_forward [n] (f: [n]f64 -> f64) (x: [n]f64): [n]f64 =
  tabulate n (\i -> jvp f x (tabulate n (\j -> f64.bool (i == j))))

-- | Where `f` is least. The step doubles after ten successes in a row and halves after a failure; the search ends where the
-- gradient, or the step, is nothing.
def argmin [n] (gradient: ([n]f64 -> f64) -> [n]f64 -> [n]f64) (f: [n]f64 -> f64) (start: [n]f64): [n]f64 =
  let epsilon = 1e-5
  let (x, _, _, _, _, _) =
    loop (x, value, slope, eta, successes, going) = (start, f start, gradient f start, 1e-5, 0i64, true) while going do
      if norm slope <= epsilon then (x, value, slope, eta, successes, false)
      else if successes == 10 then (x, value, slope, 2 * eta, 0, true)
      else let next = map2 (\x g -> x - eta * g) x slope
           in if norm (map2 (-) x next) <= epsilon then (x, value, slope, eta, successes, false)
              else let next_value = f next
                   in if next_value < value then (next, next_value, gradient f next, eta, successes + 1, true)
                      else (x, value, slope, eta / 2, 0, true)
  in x
