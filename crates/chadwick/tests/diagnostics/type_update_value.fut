entry main (a: *[]i32) = a with [0] = 1.5
