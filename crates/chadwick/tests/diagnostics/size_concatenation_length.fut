entry main [n] (x: [n]i32): [n]i32 = x ++ [1]
