def f = #some 3
entry main = 1
