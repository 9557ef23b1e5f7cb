entry main (a: *[]i32) = let c = a let b = a with [0] = 1 in b[0] + c[0]
