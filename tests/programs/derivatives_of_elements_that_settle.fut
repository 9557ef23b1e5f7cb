-- Derivatives of loops that change an array place by place and read places that do not change any more, or still do. Reverse mode reads the former
-- where they stand in the end. In each program what it gives is compared with forward mode, in every direction.

def agree [n] (f: [n]f64 -> f64) (x: [n]f64): bool =
  let forwards = map (\k -> jvp f x (map (\i -> f64.bool (i == k)) (iota n))) (iota n)
  let largest = reduce f64.max 1 (map f64.abs forwards)
  in and (map2 (\a b -> f64.abs (a - b) <= 1e-9 * largest) (vjp f x 1) forwards)

-- Elimination from the left: the column of a step is settled, what lies right of it is not.
def cholesky [n] (x: [n]f64): f64 =
  let a = map (\i -> map (\j -> (if i == j then 6 else 0) + f64.sin (x[i] * x[j])) (iota n)) (iota n)
  let l = loop l = a for j < n do
    let d = f64.sqrt l[j, j]
    let l[j, j] = d
    let l = loop l for i in j + 1..<n do l with [i, j] = l[i, j] / d
    in loop l for i in j + 1..<n do
         loop l for k in j + 1...i do l with [i, k] = l[i, k] - l[i, j] * l[k, j]
  in f64.sum (map (\i -> f64.log l[i, i] + l[n - 1, i]) (iota n))

def lu (x: [10]f64): f64 =
  let a = map (\i -> map (\j -> (if i == j then 6 else 0) + f64.cos (x[i] * 2 - x[j])) (iota 10)) (iota 10)
  let a = loop a for k < 10 do
    loop a for i in k + 1..<10 do
      let f = a[i, k] / a[k, k]
      let a[i, k] = f
      in loop a for j in k + 1..<10 do a with [i, j] = a[i, j] - f * a[k, j]
  in f64.sum (map (\i -> f64.log (f64.abs a[i, i]) + a[9, i] * a[i, 9]) (iota 10))

-- Each place from three that are there already.
def table [n] (x: [n]f64): f64 =
  let d = replicate (n + 1) (replicate (n + 1) 0.5)
  let d = loop d for i < n do
    loop d for j < n do
      d with [i + 1, j + 1] = (x[i] - x[j]) ** 2 + d[i, j] * 0.5 - f64.sin (d[i, j + 1] * d[i + 1, j])
  in d[n, n] + d[1, 2]

-- From the last place to the first.
def backwards (x: [10]f64): f64 =
  let y = loop y = replicate 10 0 for k < 10 do
    let i = 9 - k
    let s = loop s = x[i] for j in i + 1..<10 do s - f64.sin x[j] * y[j] * y[j]
    in y with [i] = s / (2 + x[i])
  in f64.sum (map2 (*) y x)

-- The second sweep changes what the first has settled.
def twice [n] (x: [n]f64): f64 =
  let y = loop y = copy x for _t < 2 do
    loop y for i < n - 1 do y with [i + 1] = y[i + 1] * f64.cos y[i] + y[i] * y[i]
  in f64.sum (map2 (*) y x)

-- Every place is written twice, in steps of two.
def strides (x: [10]f64): f64 =
  let y = loop y = copy x for i < 4 do
    let y = y with [2 * i + 1] = y[2 * i] * y[2 * i + 2]
    in y with [2 * i + 2] = y[2 * i + 1] * y[2 * i + 2] + f64.sin y[2 * i]
  in f64.sum (map2 (*) y x)

-- Places that are written in one branch only, and read in front of and behind the change.
def choices [n] (x: [n]f64): f64 =
  let y = loop y = copy x for i < n - 2 do
    let before = y[i + 1]
    let y = if x[i] > 0.1 then y with [i + 1] = before * y[i] else y with [i + 2] = before * before
    in if i % 2 == 0 then y with [i] = y[i] * y[i + 1] else y
  in f64.sum (map2 (*) y x)

-- Neighbours trade places.
def trade (x: [10]f64): f64 =
  let y = loop y = copy x for i < 9 do
    let (a, b) = (y[i], y[i + 1])
    let y[i] = b * b
    in y with [i + 1] = a * b
  in f64.sum (map2 (*) y x)

-- What a step writes depends on what it reads at the place that it writes to.
def bubbles (x: [10]f64): f64 =
  let y = loop y = copy x for i < 10 do
    loop y for j < 9 - i do
      let (a, b) = (y[j], y[j + 1])
      let y[j] = f64.min a b * 1.1
      in y with [j + 1] = f64.max a b * a
  in f64.sum (map2 (*) y x)

-- ==
-- entry: all_agree
-- input { [0.3, -0.7, 1.1, 0.4, 0.9, -0.2, 0.6, 0.25, -0.9, 0.8] } output { [true, true, true, true, true, true, true, true, true] }
-- input { [-0.5, 0.35, 0.15, -1.2, 0.45, 0.75, -0.1, 1.3, 0.05, -0.6] } output { [true, true, true, true, true, true, true, true, true] }
entry all_agree (x: [10]f64) =
  [ agree cholesky x, agree lu x, agree table x, agree backwards x, agree twice x, agree strides x, agree choices x, agree trade x
  , agree bubbles x ]

-- Second derivatives: reverse mode over reverse mode.
def slope (f: [3]f64 -> f64) (x: [3]f64): f64 = f64.sum (map2 (*) (vjp f x 1) (map (\v -> v * v + 0.5) x))

-- ==
-- entry: curvatures_agree
-- input { [0.3, -0.7, 1.1] } output { [true, true, true, true] }
entry curvatures_agree (x: [3]f64) =
  [agree (slope cholesky) x, agree (slope table) x, agree (slope twice) x, agree (slope choices) x]
