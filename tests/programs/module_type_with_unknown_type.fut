-- A refinement of a type that the module type does not have.
-- ==
-- error: no type b

module type t = { type a }
module m : t with b = i32 = { type a = i32 }
entry main = 1i32
