-- `include` with refinements that name earlier types.

module type T = { type a type b val conv : a -> b }
module type U = { type k include T with a = k with b = (k, k) }
module u : U with k = i32 = { type k = i32 type a = i32 type b = (i32, i32) def conv (x: i32) = (x, x) }

-- ==
-- entry: main
-- input { 3i32 } output { 3i32 3i32 }
entry main x = u.conv x
module type V = { type t 'a val mk 'a : a -> t a }
module v : V with t 'a = (a, a) = { type t 'a = (a, a) def mk x = (x, x) }

-- ==
-- entry: b
-- input { 3i32 } output { 3i32 3i32 }
entry b (x: i32) = v.mk x
module type W = { type t [n] val mk : (n: i64) -> t [n] }
module w : W with t [n] = [n]i32 = { type t [n] = [n]i32 def mk (n: i64) = replicate n 1i32 }

-- ==
-- entry: c
-- input { 3i64 } output { [1i32,1,1] }
entry c n = w.mk n
