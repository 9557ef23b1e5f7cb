-- Short loops, one behind the other, and products of matrices: threads share each of them.
-- ==
-- entry: steps
-- input { 6000i64 300i64 } output { 18000.0 }

-- ==
-- entry: gradient
-- input { 600i64 30i64 } output { 600.0 }

-- ==
-- entry: product
-- input { 96i64 20i64 } output { 96.0 }

-- Every element goes to 3 = 3 / 2 + 3 / 2, ever closer, and the difference from it halves in every step.
def after [n] (start: [n]f64) (steps: i64) (goal: f64): f64 =
  f64.sum (loop x = start for _i < steps do map (\v -> v / 2 + goal / 2) x)

entry steps (n: i64) (steps: i64): f64 = after (tabulate n (\i -> f64.i64 i)) steps 3

entry gradient (n: i64) (steps: i64): f64 = grad (after (tabulate n (\i -> f64.i64 i)) steps) 3

def times [n] (a: [n][n]f64) (b: [n][n]f64): [n][n]f64 =
  map (\row -> map (\column -> f64.sum (map2 (*) row column)) (transpose b)) a

-- Powers of a permutation that exchanges neighbours.
entry product (n: i64) (steps: i64): f64 =
  let exchange = tabulate_2d n n (\i j -> if j == (if i % 2 == 0 then i + 1 else i - 1) then 1.0 else 0.0)
  let power = loop p = exchange for _i < 2 * steps + 1 do times p exchange
  in f64.sum (map (\i -> power[i, i]) (iota n))
