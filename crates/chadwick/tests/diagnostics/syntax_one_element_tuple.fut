entry main = (1,)
