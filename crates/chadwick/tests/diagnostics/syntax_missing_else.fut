entry main (x: bool) = if x then 1
