def f (n: i64) =
  loop (xs: *[]i32, ys: *[]i32) = (replicate n 0, replicate n 1) for _i < 10 do
    (xs, xs)
