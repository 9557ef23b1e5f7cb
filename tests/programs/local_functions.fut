-- Local functions wherever they may stand, and short-circuit operators as functions.

-- A local function inside a lambda: its literals and operators have their own types there.
-- ==
-- entry: in_lambda
-- input { [3i64, -1, 2] } output { [3i64, 9, 2] }
-- input { empty([0]i64) } output { empty([0]i64) }
entry in_lambda (xs: []i64): []i64 =
  map (\x -> let clip (y: i64) = if y <= 0 then 9 else y in clip x) xs

-- ==
-- entry: recursion_in_lambda
-- input { 3i64 2i64 } output { 8i64 6.0 }
entry recursion_in_lambda (n: i64) (x: i64) =
  let power = \b -> (let rec go (i: i64): i64 = if i <= 0 then 1 else b * go (i - 1) in go n)
  let scaled = \y -> (let rec go (i: i64) z = if i <= 0 then z else go (i - 1) (z + y) in go n 0.0)
  in (power x, scaled 2.0)

-- ==
-- entry: conjunction disjunction
-- input { [true, true] } output { true }
-- ==
-- entry: conjunction
-- input { [true, false] } output { false }
-- ==
-- entry: disjunction
-- input { [false, true] } output { true }
-- input { [false, false] } output { false }
entry conjunction (xs: []bool) = reduce (&&) true xs
entry disjunction (xs: []bool) = reduce (||) false xs

-- ==
-- entry: sections
-- input { [1i32, 0, 5] } output { [false, true, true] [true, true, true] true }
entry sections (xs: []i32) =
  (map ((&& true) <-< (!= 1)) xs, map ((true ||) <-< (== 0)) xs, foldl (||) false [xs[0] == 1])

-- A function made by an expression that updates an array on its way.
-- ==
-- entry: made_beside_an_update
-- input { 3i64 4i64 } output { 7i64 }
entry made_beside_an_update (n: i64) (y: i64): i64 =
  let g = (let a = replicate n 1 let b = a with [0] = n let first = b[0] in \z -> z + first)
  in g y
