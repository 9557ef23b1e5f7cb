entry main = let (a, b) = 1i32 in a
