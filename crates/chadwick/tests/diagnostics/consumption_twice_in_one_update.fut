def f (x: *[]i32) =
  x with [x[0]] = (let y = x with [0] = 1 in y[0])
