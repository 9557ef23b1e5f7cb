entry main = loop x = 1 for i < 3 x + 1
