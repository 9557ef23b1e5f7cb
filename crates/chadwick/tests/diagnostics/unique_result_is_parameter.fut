def f (a: []i32): *[]i32 = a
entry main (x: []i32) = f x
