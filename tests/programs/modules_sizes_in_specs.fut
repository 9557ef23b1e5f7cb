-- A value spec as a size in later specs; `include`.

module type has_size = { val size : i64 }
module type array_t = { include has_size type elem type arr = [size]elem val zero : arr }
module arr3 : array_t with elem = i32 = { def size = 3i64 type elem = i32 type arr = [size]elem def zero : arr = replicate size 0 }

-- ==
-- entry: a
-- input {} output { [0i32,0,0] }
entry a = arr3.zero
module type A = { type t val x : t }
module type B = { include A val y : t }
module mkB (a: A) : B with t = a.t = { open a def y = x }
module b = mkB { type t = bool def x = true }

-- ==
-- entry: b_
-- input {} output { true }
entry b_ = b.y
module id (m: A) = m
module c = id { type t = i8 def x = 3i8 }

-- ==
-- entry: d
-- input {} output { 3i8 }
entry d = c.x
module app (f: (a: A) -> B) (x: A) = f x

-- ==
-- entry: e
-- input {} output { 4i32 }
entry e = (let module_ = 4i32 in module_)
