def g (a: []i32): *[]i32 =
  let f (_: i32) = a
  in f 1
