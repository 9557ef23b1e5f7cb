entry main = f 1
def f (x: i32) = x
