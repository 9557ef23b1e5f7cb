-- Names of the prelude shadowed.

module i32' = i32
module m = { module i32 = { def f = 3i64 } def g = i32.f }

-- ==
-- entry: a
-- input {} output { 3i64 4i32 }
entry a = (m.g, i32.max 3 4)
def map = 3i32

-- ==
-- entry: b
-- input {} output { 4i32 }
entry b = map + 1
def length 'a (x: a) = x

-- ==
-- entry: c
-- input {} output { 5i32 }
entry c = length 5i32
def (+) (a: i32) (b: i32) = a - b

-- ==
-- entry: d
-- input {} output { 1i32 }
entry d = 3 + 2
type i64 = i32

-- ==
-- entry: e
-- input { 3i32 } output { 3i32 }
entry e (x: i64) : i32 = x
