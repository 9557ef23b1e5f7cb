entry main (a: *[]i32) (is: []i64) = map (\i -> (a with [i] = 0)[0]) is
