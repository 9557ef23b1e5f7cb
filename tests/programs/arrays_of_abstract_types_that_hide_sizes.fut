-- Elements whose type hides a size may differ in it, whether or not a module hides the type.

module type lists = { type~ v val mk : i64 -> v val len : v -> i64 val sum : v -> i64 val empty : []v val both : v -> v -> [2]v }
module lists : lists = {
  type~ v = []i64
  def mk (n: i64) : v = iota n
  def len (x: v) = length x
  def sum (x: v) = i64.sum x
  def empty : []v = []
  def both (a: v) (b: v) : [2]v = [a, b]
}

-- ==
-- entry: literal
-- input { 2i64 3i64 } output { [2i64, 3i64] }

entry literal (a: i64) (b: i64) = map lists.len [lists.mk a, lists.mk b]

-- ==
-- entry: by_map
-- input { [1i64, 4i64, 0i64] } output { [0i64, 6i64, 0i64] }

entry by_map (ns: []i64) = let vs : []lists.v = map lists.mk ns in map lists.sum vs

-- ==
-- entry: reversed_and_filtered
-- input { [1i64, 0i64, 7i64] } output { [7i64, 1i64] }

entry reversed_and_filtered (ns: []i64) = map lists.len (reverse (filter (\v -> lists.len v > 0) (map lists.mk ns)))

-- ==
-- entry: updated
-- input { 1i64 } output { [4i64, 5i64] }

entry updated (i: i64) = map lists.len (replicate 2 (lists.mk 4) with [i] = lists.mk 5)

-- ==
-- entry: nested
-- input { 8i64 } output { [[1i64, 7i64], [2i64, 8i64]] }

entry nested (n: i64) = map (map lists.len) [[lists.mk 1, lists.mk 7], [lists.mk 2, lists.mk n]]

-- ==
-- entry: from_the_module
-- input { 3i64 } output { [3i64, 5i64] }

entry from_the_module (n: i64) = map lists.len (lists.empty ++ lists.both (lists.mk n) (lists.mk 5))

-- ==
-- entry: longest
-- input { [1i64, 4i64, 2i64] } output { 4i64 }

entry longest (ns: []i64) =
  lists.len (reduce (\a b -> if lists.len a > lists.len b then a else b) (lists.mk 0) (map lists.mk ns))

module type sets = { type t val mk : i64 -> t val size : t -> i64 }
module sets : sets = { type~ t = {name: i64, members: []i64} def mk n : t = {name = n, members = iota n} def size (x: t) = length x.members }

-- ==
-- entry: records
-- input { 4i64 } output { [4i64, 0i64, 1i64] }

entry records (n: i64) = map sets.size [sets.mk n, sets.mk 0, sets.mk 1]
