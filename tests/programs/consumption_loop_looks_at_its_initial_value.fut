-- The body looks at the array that the loop consumes.
-- ==
-- error: used in a loop

entry main [n] (xs: *[n]i32) = loop ys = xs for i < 3 do let ys[0] = xs[1] in ys
