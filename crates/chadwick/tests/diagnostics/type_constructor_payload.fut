type t = #a i32
entry main = match (#a true : t) case #a x -> x
