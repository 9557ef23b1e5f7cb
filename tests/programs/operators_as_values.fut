-- Operators that are parameters, and operators that stand for values of functions.
-- Expected values: by hand.
-- ==
-- entry: largest
-- input { [3i32, 9i32, 2i32] } output { 9i32 2i32 }

-- ==
-- entry: bound_locally
-- input { 3i32 4i32 } output { 12i32 true 1i32 }

-- ==
-- entry: folded
-- input { [1i64, 2i64, 3i64] } output { 6i64 -4i64 }

-- ==
-- entry: slope
-- input { 3.0 } output { 6.0 }

def best [n] 't ((<=): t -> t -> bool) (xs: [n]t): t = reduce (\x y -> if x <= y then y else x) xs[0] xs

entry largest (xs: []i32): (i32, i32) = (best (i32.<=) xs, best (i32.>=) xs)

entry bound_locally (x: i32) (y: i32): (i32, bool, i32) =
  let (+) = (i32.*)
  let (<): i32 -> i32 -> bool = \a b -> a i32.< b
  let choose ((-): i32 -> i32 -> i32, one: i32) = one - 0
  in (x + y, x < y && true, choose ((\a b -> a i32.+ b), 1))

entry folded (xs: []i64): (i64, i64) =
  let fold = \((+): i64 -> i64 -> i64) -> loop s = 0 for x in xs do s + x
  in (fold (\a b -> a i64.+ b), fold (\a b -> a - b) + 2)

entry slope (x: f64): f64 = grad (\x -> let (*) = \a b -> a f64.* b in x * x) x
