entry main (a: *[]i32) = let b = a with [0] = 1 in (b, a[0])
