entry nothing [n] : [0][n]i32 = []
