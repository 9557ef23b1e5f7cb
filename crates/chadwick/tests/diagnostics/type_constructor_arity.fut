type t = #a i32
entry main = match (#a 1 2 : t) case #a x -> x
