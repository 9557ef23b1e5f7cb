entry main (x: i32) = if x==-1 then 1 else 2
