-- Derivatives of loops that change an array in place and read much of it in every step.

-- A lower triangular matrix with a given product with its transpose. Only the lower half of the argument is read.
def cholesky [n] (a: [n][n]f64): [n][n]f64 =
  loop l = replicate n (replicate n 0) for j < n do
    let d = f64.sqrt (a[j, j] - f64.sum (map (\k -> l[j, k] ** 2) (iota j)))
    let l[j, j] = d
    in loop l for i in j + 1..<n do
         l with [i, j] = (a[i, j] - f64.sum (map (\k -> l[i, k] * l[j, k]) (iota j))) / d

def log_determinant [n] (a: [n][n]f64): f64 =
  let l = cholesky a in f64.sum (map (\i -> f64.log l[i, i]) (iota n))

-- ==
-- entry: inverse
-- input { [[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]] } output { [[0.13997181775481446, 0.0, 0.0], [-0.08924377642085486, 0.18201033348990137, 0.0], [-0.06106153123532174, -0.014091122592766559, 0.2583372475340535]] }
entry inverse [n] (a: [n][n]f64) = vjp log_determinant a 1

-- ==
-- entry: curvature
-- input { [[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]] [[0.1, -0.4, 0.5], [0.2, 0.3, -0.2], [0.5, 0.1, 0.7]] } output { [[0.006580534394848388, 0.0, 0.0], [-0.00898725489179487, -0.013962886096648731, 0.0], [-0.046543725832246585, 0.014081194605970336, -0.07731916116895202]] }
entry curvature [n] (a: [n][n]f64) (b: [n][n]f64) = jvp (\a -> vjp log_determinant a 1) a b

-- ==
-- entry: twice
-- input { [[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]] [[0.1, -0.4, 0.5], [0.2, 0.3, -0.2], [0.5, 0.1, 0.7]] } output { [[0.006580534394848388, 0.0, 0.0], [-0.00898725489179487, -0.013962886096648731, 0.0], [-0.046543725832246585, 0.014081194605970336, -0.07731916116895202]] }
entry twice [n] (a: [n][n]f64) (b: [n][n]f64) = vjp (\a -> vjp log_determinant a 1) a b

-- ==
-- entry: batch
-- input { [[[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]], [[2.0, 0.3, 0.1], [0.3, 1.5, 0.4], [0.1, 0.4, 1.0]]] } output { [[[0.13997181775481446, 0.0, 0.0], [-0.08924377642085486, 0.18201033348990137, 0.0], [-0.06106153123532174, -0.014091122592766559, 0.2583372475340535]], [[0.25779145825317423, 0.0, 0.0], [-0.10003847633705268, 0.3828395536744902, 0.0], [-0.011542901115813771, -0.29626779530588687, 0.559830704116968]]] }
entry batch [m][n] (as: [m][n][n]f64) = vjp (\as -> f64.sum (map log_determinant as)) as 1

-- Sums of all entries so far, with weights, from left to right and again from right to left.
def table [n] (xs: [n]f64): f64 =
  let ys = loop ys = copy xs for i in 1..<n do
    ys with [i] = f64.sin (f64.sum (map2 (*) ys[:i] (map (\k -> xs[i - k - 1]) (iota i))) + ys[i])
  let ys = loop ys for i < n do
    let at = n - 1 - i
    in ys with [at] = ys[at] * f64.cos (reduce (\a b -> a * b + a + b) 0 (map (\y -> 0.1 * y) ys))
  in f64.sum (map2 (*) ys xs)

-- ==
-- entry: of_table
-- input { [0.3, -0.7, 1.1, 0.4, 0.9] } output { [1.5759157724124975, 0.1857586929008258, 0.6026825032970622, 1.357266198252273, 1.052255697442434] }
entry of_table [n] (xs: [n]f64) = vjp table xs 1

-- Rows that trade places and are taken from each other, by an order that is changed in place, too.
def rows [n] (a: [n][n]f64): f64 =
  let (a, order) = loop (a, order) = (copy a, iota n) for k < n do
    let p = reduce i64.max 0 (map (\i -> if order[i] > order[k] then i else k) (iota n))
    let (o, r) = (order[k], copy a[k])
    let order = (copy order with [k] = order[p]) with [p] = o
    let a = (a with [k] = copy a[p]) with [p] = r
    let a = loop a for i < n do
      if i == k then a else a with [i] = map2 (\x y -> x - 0.1 * a[i, k] * y) a[i] a[k]
    in (a, order)
  in f64.sum (map (\i -> f64.sum (map (\x -> x * x) a[order[i]])) (iota n))

-- ==
-- entry: of_rows
-- input { [[0.1, -0.4, 0.5], [0.2, 0.3, -0.2], [0.5, 0.1, 0.7]] } output { [[0.08410165811612266, -0.7440317222569638, 0.8662979457754924], [0.3801808439147904, 0.5454570916388116, -0.3469158238385894], [0.9727367368424968, 0.2463422797917355, 1.26939839379028]] }
entry of_rows [n] (a: [n][n]f64) = vjp rows a 1

-- Slices of various lengths, while something holds.
def slices [n] (xs: [n]f64): f64 =
  let (ys, _, _) = loop (ys, i, s) = (copy xs, 0i64, 0f64) while i + 2 < n && s < 100 do
    let w = 2 + i % 2
    let ys = ys with [i:i + w] = map (\y -> y * f64.sum ys / 3 + xs[i]) ys[i:i + w]
    in (ys, i + 1, s + f64.abs ys[i])
  in f64.sum (map (\y -> y * y) ys)

-- ==
-- entry: of_slices
-- input { [0.3, -0.7, 1.1, 0.4, 0.9] } output { [1.3004441465795837, -1.3741776452053927, 5.458626122904332, 1.0358424901774614, 2.509777281087459] }
entry of_slices [n] (xs: [n]f64) = vjp slices xs 1

-- What was read before a change is used behind it.
def stale [n] (xs: [n]f64): f64 =
  let ys = loop ys = copy xs for i < n do
    let old = copy ys
    let total = f64.sum ys
    let ys = ys with [i] = 0.1 * total * ys[i]
    let ys = ys with [(i + 1) % n] = f64.sum (map2 (\a b -> a * b + 0.1 * b) old ys) * 0.2
    in ys with [i] = ys[i] + total
  in f64.sum ys

-- ==
-- entry: of_stale
-- input { [0.3, -0.7, 1.1, 0.4, 0.9] } output { [37969.88085080765, 25202.53083996883, 60981.61434793213, 56111.80153587745, 64149.57584245311] }
entry of_stale [n] (xs: [n]f64) = vjp stale xs 1

-- Three loops inside each other, the innermost with a state of its own.
def nested [n] (m: [n][n]f64): f64 =
  let m = loop m = copy m for i < n do
    let m = loop m for j < n do
      let s = loop s = 0 for k < n do s + m[i, k] * m[k, j]
      let m = m with [i, j] = 0.3 * s + m[i, j]
      in if j % 2 == 0 then m with [j, i] = f64.sum (map (\k -> m[k, i]) (iota n)) * 0.2 else m
    in m with [i, i] = m[i, i] + f64.maximum (map f64.maximum m)
  in f64.sum (map f64.sum m)

-- ==
-- entry: of_nested
-- input { [[0.1, -0.4, 0.5], [0.2, 0.3, -0.2], [0.5, 0.1, 0.7]] } output { [[0.7325823113715516, 0.37757736053867896, 0.5617959803208448], [2.653976524850948, 3.028787873482977, 1.9838807471096755], [1.0766931294963091, 0.5495891614355591, 3.726358682926055]] }
entry of_nested [n] (m: [n][n]f64) = vjp nested m 1

-- Counts that are changed beside what they are a weight of.
def counted [n] (xs: [n]f64) (js: [n]i64): f64 =
  let (ys, c) = loop (ys, c) = (copy xs, replicate n 0i64) for i < n do
    let c = c with [js[i] % n] = c[js[i] % n] + 1
    let ys = ys with [i] = f64.sum (map2 (\y k -> y * f64.i64 k) ys c)
    in (ys, c)
  in f64.sum (map2 (\y k -> y * f64.i64 k) ys c)

-- ==
-- entry: of_counted
-- input { [0.3, -0.7, 1.1, 0.4, 0.9] [3i64, 1, 3, 0, 2] } output { [0.0, 4.0, 0.0, 13.0, 0.0] }
entry of_counted [n] (xs: [n]f64) (js: [n]i64) = vjp (\xs -> counted xs js) xs 1

-- Changes under conditions, and none.
def chosen [n] (xs: [n]f64): f64 =
  let ys = loop ys = copy xs for i < n do
    let t = f64.sum (map (\y -> f64.sin y) ys)
    let ys = if t > 0.5 then (let ys = ys with [i] = t in ys with [(i+1)%n] = f64.sum ys) else if i > 2 then ys with [0] = ys[i] * t else ys
    let ys = if xs[i] > 0 then ys else loop ys for j < i do ys with [j] = f64.sum (map (*0.3) ys)
    in ys
  in f64.sum (map2 (*) ys xs)

-- ==
-- entry: of_chosen
-- input { [0.3, -0.7, 1.1, 0.4, 0.9] } output { [13.873205962663615, 9.14689403829288, 5.046045769666975, 4.9575104163407175, 3.625984254834387] }
entry of_chosen [n] (xs: [n]f64) = vjp chosen xs 1

-- ==
-- entry: chosen_forward
-- input { [0.3, -0.7, 1.1, 0.4, 0.9] } output { [1.230502186791028, -12.944461911791532, -5.07894854170682, -10.291433387196532, -5.906174182258723] }
entry chosen_forward [n] (xs: [n]f64) = jvp (\xs -> vjp chosen xs 1) xs (map (\x -> x*x) xs)

-- ==
-- entry: chosen_twice
-- input { [0.3, -0.7, 1.1, 0.4, 0.9] } output { [1.2305021867910266, -12.944461911791533, -5.07894854170682, -10.291433387196534, -5.906174182258724] }
entry chosen_twice [n] (xs: [n]f64) = vjp (\xs -> vjp chosen xs 1) xs (map (\x -> x*x) xs)

-- Two arrays, one of which is changed.
def two [n] (xs: [n]f64): f64 =
  let (ys, zs) = loop (ys, zs) = (copy xs, map (*2) xs) for i < n do
    let (ys, zs) = if i % 2 == 0 then (ys with [i] = f64.sum zs, zs) else (ys, zs with [i] = f64.sum (map2 (*) ys zs))
    in (ys, zs)
  in f64.sum (map2 (*) ys zs)

-- ==
-- entry: of_two
-- input { [0.3, -0.7, 1.1, 0.4, 0.9] } output { [107.84000000000002, 18.048000000000002, 142.57600000000005, 67.75000000000003, 141.46000000000004] }
entry of_two [n] (xs: [n]f64) = vjp two xs 1

-- Two arrays that trade places.
def swap [n] (xs: [n]f64): f64 =
  let (ys, zs) = loop (ys, zs) = (copy xs, map (*2) xs) for i < n do
    let (a, b) = (f64.sum ys, f64.sum (map (*0.3) zs)) in (zs with [i] = a, ys with [i] = b)
  in f64.sum (map2 (*) ys zs)

-- ==
-- entry: of_swap
-- input { [0.3, -0.7, 1.1, 0.4, 0.9] } output { [76.37023212, 144.59978232, 174.58816032, 197.27233032, 216.85402032] }
entry of_swap [n] (xs: [n]f64) = vjp swap xs 1
