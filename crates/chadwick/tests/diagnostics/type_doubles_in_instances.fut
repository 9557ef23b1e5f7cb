-- No type written here is large, but each function is used at twice the type of the one before.
def none 'a (_: a) = 0i32
def a x = none (x, x, x, x, x, x, x, x)
def b x = a (x, x, x, x, x, x, x, x)
def c x = b (x, x, x, x, x, x, x, x)
def d x = c (x, x, x, x, x, x, x, x)
def e x = d (x, x, x, x, x, x, x, x)
def f x = e (x, x, x, x, x, x, x, x)

entry main (x: i32) = f x
