-- A size that can never be that of what comes.
entry main (xs: [2]i32) = loop ys: [3]i32 = xs for _i < 3i32 do ys
