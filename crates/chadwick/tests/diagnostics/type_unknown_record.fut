def f r = r.x
entry main = 1
