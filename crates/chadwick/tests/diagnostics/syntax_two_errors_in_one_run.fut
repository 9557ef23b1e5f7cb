def f (x: i32 = x
def g = )
entry main = 1
