type t = #a | #a i32
entry main = 1
