-- The derivative of a fold of matrices from a function whose result has shapes that only the run knows.
-- ==
-- entry: main
-- input { 3.0 2.0 } output { 4.0 2.0 }

type rec tree = #leaf f64 | #node tree f64 tree

def fold_tree 'b (f: b -> f64 -> b -> b) (g: f64 -> b) (t: tree): b =
  match t case #leaf x -> g x case #node l x r -> f (fold_tree f g l) x (fold_tree f g r)

def multiply (a: [2][2]f64) (b: [2][2]f64): [2][2]f64 =
  map (\row -> map (\column -> f64.sum (map2 (*) row column)) (transpose b)) a

def product [n] (xs: [n][2][2]f64): [2][2]f64 = reduce multiply [[1, 0], [0, 1]] xs

def f (p: f64): f64 =
  let leaf _ = [[[1, 1], [1, 1]], [[1, 1], [1, p]]]
  let node (_: [2][2][2]f64) (_: f64) (right: [2][2][2]f64) = right
  in (product (fold_tree node leaf (#leaf 1)))[0, 1]

entry main (p: f64) (w: f64) = vjp2 f p w
