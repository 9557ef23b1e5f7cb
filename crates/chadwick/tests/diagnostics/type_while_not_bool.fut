entry main = loop x = 1 while x do x - 1
