entry main (x: f64): f64 =
  let go y = if y <= 0 then 0 else 1 + go (y - 1)
  in go x
