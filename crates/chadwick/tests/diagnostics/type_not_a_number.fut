entry main = true + false
