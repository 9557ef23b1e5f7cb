def rec x = y
and y = x
entry main = 1
