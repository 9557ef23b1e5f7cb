entry main = (\x -> x + 1i32) == (\x -> x)
