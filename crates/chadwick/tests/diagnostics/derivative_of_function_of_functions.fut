-- Functions cannot be what a derivative gives.
def f = jvp (\x -> \y -> x + y) 1f64 1f64
entry main = f 2
