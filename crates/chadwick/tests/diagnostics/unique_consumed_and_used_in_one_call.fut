def f (a: *[]i32) (b: []i32) = (a with [0] = b[0])[0]
entry main (a: *[]i32) = f a a
