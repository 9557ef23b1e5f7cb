-- Parametric modules given to parametric modules.

module type A = { type t val x : t }
module type B = { include A val y : t }
module mkB (a: A) : B with t = a.t = { open a def y = x }
module app (f: (a: A) -> B with t = a.t) (x: A) = f x
module r = app mkB { type t = i32 def x = 5i32 }

-- ==
-- entry: a
-- input {} output { 5i32 }
entry a = r.y
module type M = { type t [n] 'a val f [n] 'a : [n]a -> t [n] a val g [n] 'a : t [n] a -> [n]a }
module impl : M = { type t [n] 'a = {d: [n]a} def f [n] 'a (d: [n]a) : t [n] a = {d} def g [n] 'a (x: t [n] a) = x.d }

-- ==
-- entry: b
-- input { [1i32,2] } output { [1i32,2] [true] }
entry b (xs: []i32) = (impl.g (impl.f xs), [true])
module outer = { module inner = { module deep = { def v = 42i32 type t = {z: i32} } } }

-- ==
-- entry: c
-- input {} output { 42i32 7i32 43i32 }
entry c = let r : outer.inner.deep.t = {z = 7} in (outer.inner.deep.v, r.z, outer.inner.deep.(v + 1))
