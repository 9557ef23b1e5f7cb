-- A result type that is not written keeps the size parameters of its function: the lengths below can never agree.
-- ==
-- error: can never be equal

def longer [n] (xs: [n]i32) = xs ++ [1]
entry main [n] (xs: [n]i32) = map2 (+) xs (longer xs)
