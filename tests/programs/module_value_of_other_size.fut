-- A value of less general size than its spec.
-- ==
-- error: size

module type mt = { val f [n] : [n]i32 -> [n]i32 }
module m : mt = { def f [n] (xs: [n]i32) : [2]i32 = [1,2] }
entry main = m.f [1,2,3]
