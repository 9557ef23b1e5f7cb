def f = 1
def f = 2
entry main = f
