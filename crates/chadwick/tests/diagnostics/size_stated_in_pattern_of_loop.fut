-- A size that can never be that of what comes.
entry main [n] (xs: [n]i32) = loop (ys: [n]i32) = xs for _i < 2i32 do map2 (+) ys xs ++ [1]
