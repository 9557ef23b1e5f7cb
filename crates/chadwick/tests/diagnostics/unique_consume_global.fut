def table = [1i32, 2, 3]
entry main = (table with [0] = 0)[0]
