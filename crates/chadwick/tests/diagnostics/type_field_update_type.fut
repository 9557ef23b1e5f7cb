entry main = {x = 1i32} with x = true
