entry main = let {x, z} = {x = 1, y = 2} in x
