-- Modules in module types; `with` on a type of an inner module.

module type inner = { type t val zero : t val add : t -> t -> t }
module type outer = { module i : inner val three : i.t -> i.t include inner with t = i32 }
module o : outer with i.t = f64 = {
  module i = { type t = f64 def zero = 0f64 def add (a: t) (b: t) = a + b }
  type t = i32
  def zero = 0i32
  def add = (i32.+)
  def three (x: f64) = i.add x (i.add x x)
}

-- ==
-- entry: a
-- input {} output { 6.0 7i32 }
entry a = (o.three 2, o.add 3 (o.add 4 o.zero))
module f (P: inner) (Q: inner with t = P.t) = { def both (x: P.t) = (P.add x P.zero, Q.add x x) }
module pq = f o.i { type t = f64 def zero = 1f64 def add (a: t) (b: t) = a * b }

-- ==
-- entry: b
-- input {} output { 3.0 9.0 }
entry b = pq.both 3
