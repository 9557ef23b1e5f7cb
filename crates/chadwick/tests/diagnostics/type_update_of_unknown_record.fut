def f r = r with x = 1
entry main = 1
