entry main (a: []i32) (i: i32) = a[i:]
