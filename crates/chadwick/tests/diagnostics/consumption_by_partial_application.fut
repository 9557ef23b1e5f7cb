def update (xs: *[]i32) (i: i32) (y: i32) = xs with [i] = y

def f (xs: *[]i32) =
  let set = update xs
  in (set 0 0, set 0 1)
