-- Loops whose steps are a few loops: threads may run all steps together. Expected values: the interpreter's.
-- ==
-- entry: recurrent
-- input { 3i64 5i64 } output { 9.697803706642706 [0.9868030519268975, 0.9685733446786459, 0.9880502338270367] }

-- ==
-- entry: chained
-- input { 3i64 5i64 }
-- output { [14.698326189156496, 8.880130804955645, 15.417122521145064, 6.712505522318548, 19.534899314617384] [0.0, 12.926346408556444, 13.96826954198679] }

-- ==
-- entry: diffused
-- input { 3i64 5i64 } output { [[0.125732421875, 0.296142578125, 0.306640625], [0.296142578125, 0.64453125, 0.637451171875], [0.306640625, 0.637451171875, 0.612548828125]] }

-- ==
-- entry: mixed
-- input { 3i64 5i64 } output { 18401i64 [6389i64, 5935i64, 6086i64] }

-- ==
-- entry: late
-- input { 30i64 9i64 } error: assertion failed

-- ==
-- entry: outside
-- input { 30i64 9i64 } error: out of bounds

-- ==
-- entry: failing
-- input { 30i64 9i64 0i64 } error: out of bounds

def sigmoid (x: f64): f64 = 1 / (1 + f64.exp (-x))
def dot [n] (a: [n]f64) (b: [n]f64): f64 = f64.sum (map2 (*) a b)

-- Two loops in a step, of which the second reads all of the first; a total; arrays that come and go.
entry recurrent (n: i64) (steps: i64): (f64, [n]f64) =
  let w = tabulate_2d n n (\i j -> f64.sin (f64.i64 (i * n + j)) / f64.i64 n)
  let (total, hidden, _) =
    loop (total, hidden, memory) = (0, replicate n 0.1, replicate n 0) for t < steps do
      let z = map (\row -> dot row hidden + f64.i64 t) w
      let memory = map2 (\z m -> sigmoid z * m + f64.tanh z) z memory
      let hidden = map2 (\m z -> f64.tanh m * sigmoid z) memory (reverse z)
      in (total + f64.sum hidden, hidden, memory)
  in (total, hidden)

-- Every step reads a number of its own, and in the gradient adds to its cotangent.
def chain [k][n] (a: [k]f64) (x: [n]f64): f64 =
  let (x, _) = loop (x, y) = (x, map (* 0.5) x) for i < k do (map2 (\u v -> a[i] * u + v) x y, x)
  in f64.sum (map (\v -> v * v) x)

entry chained (n: i64) (steps: i64): ([steps]f64, [n]f64) =
  vjp (uncurry chain) (tabulate steps (\i -> 0.5 - 0.01 * f64.i64 i), tabulate n (\i -> f64.sin (f64.i64 i))) 1

-- Changes in place, with neighbours.
entry diffused (n: i64) (steps: i64): [n][n]f64 =
  loop u = tabulate_2d n n (\i j -> f64.i64 (i * j % 7)) for _t < steps do
    tabulate_2d n n (\i j ->
      let at i j = if i >= 0 && i < n && j >= 0 && j < n then u[i, j] else 0
      in 0.5 * at i j + 0.125 * (at (i - 1) j + at (i + 1) j + at i (j - 1) + at i (j + 1)))

-- Whole numbers, with a total that the next step needs.
entry mixed (n: i64) (steps: i64): (i64, [n]i64) =
  loop (sum, xs) = (1, iota n) for t < steps do
    let xs = map (\x -> x * 3 + sum ^ t) xs
    in (i64.sum xs, map (\x -> x + sum % 5) (rotate 1 xs))

-- Fails in a late step.
entry late (n: i64) (steps: i64): f64 =
  f64.sum (loop xs = tabulate n f64.i64 for t < steps do
    map2 (\i x -> let _ = assert (t < steps / 2 || i < n / 3) 0 in x * 0.5 + f64.cos x) (iota n) xs)

entry outside (n: i64) (steps: i64): [n]i64 =
  loop xs = iota n for t < steps do map (\x -> xs[if t == steps - 2 && x > n / 2 then n + x else x]) xs

-- Reads beside the end in one place of one step, which may be the first that threads run together.
entry failing (n: i64) (steps: i64) (bad: i64): [n]f64 =
  loop xs = map f64.i64 (iota n) for s < steps do
    tabulate n (\i -> 0.75 * xs[i] + 0.25 * xs[if s == bad && i == 0 then n else (i + 1) % n])
