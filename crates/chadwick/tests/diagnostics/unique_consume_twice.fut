def f (a: *[]i32): *[]i32 = a with [0] = 1
entry main (a: *[]i32) = (f a, f a)
