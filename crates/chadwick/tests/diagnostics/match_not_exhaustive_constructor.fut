type t = #a | #b i32
entry main (x: i32) = match (if x > 0 then #a else #b x : t) case #a -> 1
