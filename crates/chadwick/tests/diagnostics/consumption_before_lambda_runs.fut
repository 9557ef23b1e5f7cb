def g (a: *[]i32) =
  (\(x: *[]i32) -> x with [0] = 1) a |> \y -> (y, a)
