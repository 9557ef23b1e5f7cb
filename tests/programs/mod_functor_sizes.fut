-- Abstract types with size parameters; sizes from modules.

module type elem = { type t [n] val zero : (n: i64) -> t [n] val add [n] : t [n] -> t [n] -> t [n] }
module sums (E: elem) = { def sum [n] (k: i64) (xs: [n](E.t [k])) : E.t [k] = reduce E.add (E.zero k) xs }
module v = { type t [n] = [n]f64 def zero n : [n]f64 = replicate n 0 def add [n] (a: [n]f64) (b: [n]f64) = map2 (+) a b }
module sv = sums v

-- ==
-- entry: a
-- input { [[1f64,2],[3f64,4]] } output { [4f64,6] }
entry a [n][k] (xs: [n][k]f64) = sv.sum k xs
module type sized = { val n : i64 type t }
module arr (S: sized) = { type t = [S.n]S.t def mk (x: S.t) : t = replicate S.n x def len = S.n }
module a3 = arr { def n = 3i64 type t = i32 }
module a23 = arr { def n = 2i64 type t = a3.t }

-- ==
-- entry: b
-- input {} output { [[7i32,7,7],[7i32,7,7]] 2i64 }
entry b = (a23.mk (a3.mk 7), a23.len)
