def m = 1
entry main = m.(x)
