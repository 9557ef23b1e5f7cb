entry main = length (rep 1i32)
