-- Copies of parts of an array that are used behind a change of it, and parts that are written to other places of the same array.
-- Expected values: by hand.
-- ==
-- entry: down
-- input { [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]] } output { [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]] }

-- ==
-- entry: backwards
-- input { [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]] } output { [[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]] }

-- ==
-- entry: sinking
-- input { [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]] } output { [[3.0, 4.0], [5.0, 6.0], [1.0, 2.0]] }

-- ==
-- entry: shifted
-- input { [1.0, 2.0, 3.0, 4.0] } output { [1.0, 1.0, 2.0, 3.0] }

-- ==
-- entry: in_branches
-- input { [[1.0, 2.0], [3.0, 4.0]] true } output { [[0.0, 0.0], [3.0, 4.0]] 3.0 }
-- input { [[1.0, 2.0], [3.0, 4.0]] false } output { [[1.0, 2.0], [3.0, 4.0]] 3.0 }

-- ==
-- entry: around_a_loop
-- input { [[1.0, 2.0], [3.0, 4.0]] } output { [[0.0, 0.0], [1.0, 2.0]] }

-- ==
-- entry: scattered
-- input { [1.0, 2.0, 3.0] } output { [9.0, 9.0, 3.0] 3.0 }

-- ==
-- entry: gradient
-- input { [1.0, 2.0, 3.0, 4.0] } output { [3.0, 1.0, 0.0, 0.0] }

entry down [m][n] (x: [m][n]f64): [m][n]f64 = loop a = copy x for i < m - 1 do a with [i + 1] = copy a[i]

entry backwards [m][n] (x: [m][n]f64): [m][n]f64 = loop a = copy x for i < m - 1 do a with [i + 1] = copy (reverse a[i])

entry sinking [m][n] (x: [m][n]f64): [m][n]f64 =
  loop a = copy x for i < m - 1 do
    let upper = copy a[i]
    let lower = copy a[i + 1]
    in (a with [i] = lower) with [i + 1] = upper

entry shifted [n] (x: [n]f64): [n]f64 = let a = copy x in a with [1:] = copy a[:n - 1]

entry in_branches [m][n] (x: [m][n]f64) (clear: bool): ([m][n]f64, f64) =
  let a = copy x
  let first = copy a[0]
  let b = if clear then a with [0] = replicate n 0 else a
  in (b, f64.sum first)

entry around_a_loop [m][n] (x: [m][n]f64): [m][n]f64 =
  let a = copy x
  let first = copy a[0]
  let b = loop a = a for i < m do a with [i] = replicate n 0
  in b with [m - 1] = first

entry scattered [n] (x: [n]f64): ([n]f64, f64) =
  let a = copy x
  let part = copy a[0:2]
  let b = scatter a [0, 1] [9, 9]
  in (b, f64.sum part)

def changed [n] (x: [n]f64): [n]f64 =
  loop a = copy x for i < n - 2 do a with [i + 1:i + 3] = map2 (+) (copy a[i:i + 2]) [f64.i64 i, 0]

entry gradient (x: [4]f64): [4]f64 = grad (\x -> f64.sum (changed x)) x
