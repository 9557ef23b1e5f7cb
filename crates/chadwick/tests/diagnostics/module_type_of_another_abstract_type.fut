module type x = { type v type t = (v, v) val one : t }
module m : x = { type v = i32 type t = (f64, f64) def one = (1.0, 1.0) }
module n : x = { type v = i32 type t = (i32, i32) def one = (1i32, 1i32) }
entry main (x: i32) = let (a, _) = n.one in a + x
