def f x = x x
entry main = 1
