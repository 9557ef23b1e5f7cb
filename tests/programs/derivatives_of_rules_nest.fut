-- Derivatives of functions that go by a rule of the program: a derivative around another one goes by the rule, too.
-- Expected values: by hand. A value that stops gradients has none of any order.
-- ==
-- entry: stopped
-- input { 0.5 } output { 0.5 0.0 }

-- ==
-- entry: tripled
-- input { 0.0 } output { 3.0 9.0 27.0 }

-- ==
-- entry: forward
-- input { 0.5 } output { 0.5 0.0 }

-- ==
-- entry: mapped
-- input { [1.0, 2.0] } output { [2.0, 4.0] [2.0, 2.0] }

def stop (x: f64): f64 = with_vjp id (\_ _ -> 0) x
def stop_forward (x: f64): f64 = with_jvp id (\_ _ -> 0) x

-- | Its derivative is three times itself, whatever the function says.
def triple (x: f64): f64 = with_vjp f64.exp (\y y_ct -> 3 * y * y_ct) x


entry stopped (x: f64): (f64, f64) = (grad (\x -> x * stop x) x, grad (grad (\x -> x * stop x)) x)
entry tripled (x: f64): (f64, f64, f64) = (grad triple x, grad (grad triple) x, grad (grad (grad triple)) x)

entry forward (x: f64): (f64, f64) =
  let f x = x * stop_forward x
  in (jvp f x 1, jvp (\x -> jvp f x 1) x 1)

entry mapped (x: [2]f64): ([2]f64, [2]f64) =
  let f x = f64.sum (map (\x -> x * x + stop x) x)
  in (grad f x, grad (\x -> f64.sum (grad f x)) x)
