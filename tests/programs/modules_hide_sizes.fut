-- Module types that hide the sizes of values: a parametric module works for any, and who uses the module itself may know more.

module type table = {
  val numbers: []i64
  val pairs: ?[n].([n]i64, [n]i64)
  val make: i64 -> []i64
}

module known: table = { def numbers = [1i64, 2, 3]  def pairs = ([1i64, 2], [3i64, 4])  def make = iota }

module unknown: table = {
  def numbers: []i64 = filter (> 2) (iota 6)
  def pairs: ?[n].([n]i64, [n]i64) = let xs = numbers in (xs, xs)
  def make (n: i64): []i64 = filter (> 1) (iota n)
}

module sums (t: table) = {
  def all = i64.sum t.numbers + i64.sum (map2 (*) t.pairs.0 t.pairs.1) + i64.sum (t.make 4)
  def many = let size [n] (_: [n]i64) = n in size t.numbers
  def with_three = i64.sum (map2 (+) t.numbers (iota 3))
}

module of_known = sums known
module of_unknown = sums unknown
module of_four = sums { def numbers: []i64 = iota 4  def pairs = (numbers, numbers)  def make (_: i64) = numbers }

-- ==
-- entry: from_known
-- input {} output { 23i64 3i64 9i64 }
entry from_known = (of_known.all, of_known.many, of_known.with_three)

-- ==
-- entry: from_unknown
-- input {} output { 67i64 3i64 15i64 }
entry from_unknown = (of_unknown.all, of_unknown.many, of_unknown.with_three)

-- ==
-- entry: from_four
-- input {} output { 26i64 4i64 }
entry from_four = (of_four.all, of_four.many)

-- ==
-- entry: four_are_not_three
-- input {} error: size mismatch
entry four_are_not_three = of_four.with_three
