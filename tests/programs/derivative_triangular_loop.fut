-- Arrays whose size depends on the index of the loop or build that makes them: the tape keeps them in boxes.
-- Expected values: the interpreter's own differentiation.
-- ==
-- entry: gradient_loop
-- input { [0.1, 0.2, 0.3] }
-- output { [6.0119944286272915, 4.9909298649813545, 0.0] }

-- ==
-- entry: gradient_build
-- input { [0.1, 0.2, 0.3] }
-- output { [1.731932576116271, 1.0299124631119454, 0.5281622918613607] }

-- ==
-- entry: gradient_state
-- input { [0.1, 0.2, 0.3] }
-- output { [0.4810075313868983, 2.4050376569344913, 7.253893545932864] }

def in_loop [n] (x: [n]f64): f64 =
  loop s = 0.5 for i < n do
    let ys = map (\j -> f64.exp (x[j] * s)) (iota i)
    in f64.sin s + f64.sum (map2 (*) ys (reverse ys))

entry gradient_loop [n] (x: [n]f64): [n]f64 = grad in_loop x

def in_build [n] (x: [n]f64): f64 =
  let row i = f64.product (map (\j -> f64.exp (x[i] * x[j])) (iota i)) + f64.sum (map (\j -> f64.sin (x[i] * x[j])) (iota (n - i)))
  in f64.sum (map row (iota n))

entry gradient_build [n] (x: [n]f64): [n]f64 = grad in_build x

-- The state of the loop has another size at the start.
def state [n] (x: [n]f64): f64 =
  f64.sum (loop (zs: []f64) = [1.0] for i < n do map (\j -> f64.exp (x[i] * zs[j % length zs])) (iota 4))

entry gradient_state [n] (x: [n]f64): [n]f64 = grad state x
