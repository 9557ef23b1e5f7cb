entry main (a: []i32) (x: f64) = a[x]
