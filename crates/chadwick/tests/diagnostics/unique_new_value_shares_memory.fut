entry main (a: *[2][2]i32) = a with [0] = a[1]
