entry main = map (\x x + 1) [1]
