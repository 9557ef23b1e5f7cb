-- A size that can never be that of what comes.
entry main (xs: [2]i32) = loop s = 0 for (ys: [3]i32) in [xs] do s + length ys
