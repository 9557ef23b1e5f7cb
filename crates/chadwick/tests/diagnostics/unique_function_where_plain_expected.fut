def zero (a: *[2]i32): [2]i32 = a with [0] = 0
entry main (xs: [3][2]i32) = map zero xs
