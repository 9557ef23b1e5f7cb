-- Many tangents or cotangents of a value that hides its size: all of them have the size of the value.

type~ vec = []f64
def vec_of (xs: []f64): vec = xs
def f (x: (f64, vec)): (vec, f64) = (vec_of (map (* x.0) x.1), f64.sum x.1)

-- ==
-- entry: tangents
-- input { 2.0 [1.0, 2.0, 3.0] } output { [6.0, 12.0] [0.0, 6.0] }
entry tangents (a: f64) (xs: [3]f64) =
  let ys = jmp f (a, xs) [(1, vec_of [0, 0, 0]), (0, vec_of [1, 2, 3])]
  in (map (\(v, _) -> f64.sum v) ys, map (.1) ys)

-- ==
-- entry: cotangents
-- input { 2.0 [1.0, 2.0, 3.0] } output { [6.0, 0.0] [[2.0, 2.0, 2.0], [1.0, 1.0, 1.0]] }
entry cotangents (a: f64) (xs: [3]f64) =
  let xs = mjp f (a, xs) [(vec_of [1, 1, 1], 0), (vec_of [0, 0, 0], 1)]
  in (map (.0) xs, map (\(_, v) -> v :> [3]f64) xs)
