type t = #a i32 | #b
entry main (x: i32) = let #a y = (#a x : t) in y
