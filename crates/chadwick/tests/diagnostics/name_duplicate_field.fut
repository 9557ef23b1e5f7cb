entry main = {a = 1, a = 2}.a
