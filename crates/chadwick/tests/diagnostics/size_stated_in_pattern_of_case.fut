-- A size that can never be that of what comes.
entry main (xs: [2]i32) = match xs case (ys: [3]i32) -> length ys
