type rec t = (t, i32)
entry main = 1
