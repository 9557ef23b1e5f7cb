def f 'a 'a (x: a) = x
entry main = 1
