-- A spec promises the size of the result; the value hides it.
-- ==
-- error: expected size n

module m : {val f [n] : [n]i32 -> [n]i32} = {def f (xs: []i32) = filter (> 0) xs}
entry main (xs: []i32) = map2 (+) xs (m.f xs)
