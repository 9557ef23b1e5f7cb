entry main (a: []i32) = a[0, 0]
