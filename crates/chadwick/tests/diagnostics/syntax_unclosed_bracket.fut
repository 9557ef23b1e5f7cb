entry main = [1, 2
