-- A tower of monoids.

module type monoid = { type t val zero : t val add : t -> t -> t }
module mk_pair (A: monoid) (B: monoid) : monoid with t = (A.t, B.t) = {
  type t = (A.t, B.t)
  def zero = (A.zero, B.zero)
  def add (a1, b1) (a2, b2) = (A.add a1 a2, B.add b1 b2) : t
}
module mk_arr (A: monoid) (N: {val n : i64}) : monoid with t = [N.n]A.t = {
  type t = [N.n]A.t
  def zero = replicate N.n A.zero
  def add = map2 A.add
}
module sum = { type t = i32 def zero = 0i32 def add = (i32.+) }
module max = { type t = i32 def zero = i32.lowest def add = i32.max }
module sm = mk_pair sum max
module smm = mk_pair sm (mk_pair max sum)
module am = mk_arr sum {def n = 2i64}

-- ==
-- entry: a
-- input { [1i32,5,3] } output { 9i32 5i32 5i32 9i32 }
entry a xs = let ((a, b), (c, d)) = reduce smm.add smm.zero (map (\x -> ((x, x), (x, x))) xs) in (a, b, c, d)

-- ==
-- entry: b
-- input { [[1i32,5],[3i32,4]] } output { [4i32,9] }
entry b (xs: [][2]i32) = reduce am.add am.zero xs
