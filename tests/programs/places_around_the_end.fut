-- Places a few steps beside an index, around the end of the array, which may be shorter than the steps are long.
-- Expected values: computed one by one.
-- ==
-- entry: shifted grown rotated
-- input { [1.0] } output { [31.0] }
-- input { [1.0, 2.0] } output { [52.0, 41.0] }
-- input { [1.0, 2.0, 3.0] } output { [53.0, 60.0, 73.0] }
-- input { [1.0, -1.0, 2.0, 5.0, 3.0, 7.0, 0.0, 4.0] } output { [99.0, 104.0, 162.0, 67.0, 95.0, 60.0, 19.0, 45.0] }
-- input { empty([0]f64) } output { empty([0]f64) }

-- ==
-- entry: shifted_adjoint grown_adjoint rotated_adjoint
-- input { [1.0] } output { [31.0] }
-- input { [1.0, 2.0] } output { [52.0, 41.0] }
-- input { [1.0, 2.0, 3.0] } output { [51.0, 64.0, 71.0] }
-- input { [1.0, -1.0, 2.0, 5.0, 3.0, 7.0, 0.0, 4.0] } output { [194.0, 193.0, 160.0, 63.0, 94.0, 117.0, 132.0, 163.0] }

-- ==
-- entry: twice
-- input { [1.0] } output { [1.0] }
-- input { [1.0, -1.0, 2.0, 5.0, 3.0, 7.0, 0.0, 4.0] } output { [1.25, 0.9375, 2.0, 3.5, 4.25, 3.9375, 3.0, 2.125] }

def shift [n] (x: [n]f64): [n]f64 =
  tabulate n (\i -> x[(i - 3) % n] + 2 * x[(i - 2) % n] + 4 * x[(i + 1) % n] + 8 * x[(i + 2) % n] + 16 * x[(i + 3) % n])

def grow [n] (x: [n]f64): [n]f64 =
  tabulate n (\i ->
    x[(i + n - 3) % n] + 2 * x[(i + n - 2) % n] + 4 * x[(i + n + 1) % n] + 8 * x[(n + i + 2) % n] + 16 * x[(3 + i) % n])

def turn [n] (x: [n]f64): [n]f64 =
  map5 (\a b c d e -> a + 2 * b + 4 * c + 8 * d + 16 * e)
       (rotate (-3) x) (rotate (-2) x) (rotate 1 x) (rotate 2 x) (rotate 3 x)

def seed (n: i64): [n]f64 = tabulate n (\i -> f64.i64 (i + 1))

entry shifted [n] (x: [n]f64) = shift x
entry grown [n] (x: [n]f64) = grow x
entry rotated [n] (x: [n]f64) = turn x
entry shifted_adjoint [n] (x: [n]f64) = vjp shift x (seed n)
entry grown_adjoint [n] (x: [n]f64) = vjp grow x (seed n)
entry rotated_adjoint [n] (x: [n]f64) = vjp turn x (seed n)

-- A function that is called twice.
entry twice [n] (x: [n]f64): [n]f64 =
  let smooth x = tabulate n (\i -> 0.25 * x[(i + n - 1) % n] + 0.5 * x[i] + 0.25 * x[(i + 1) % n])
  in smooth (smooth x)
