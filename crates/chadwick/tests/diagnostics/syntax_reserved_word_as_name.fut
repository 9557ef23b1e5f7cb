def loop = 1
entry main = 2
