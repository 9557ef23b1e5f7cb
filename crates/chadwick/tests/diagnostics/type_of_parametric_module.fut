-- A type of a parametric module that was not applied.
module M (X: { type t }) = { type u = i32 }
def f (x: M.u): i32 = x + 1
entry main (x: i32) = f x
