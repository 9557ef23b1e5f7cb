entry main (a: []i32) (i: u8) = a[i]
