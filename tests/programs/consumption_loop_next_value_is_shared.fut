-- The next value of a consumed loop parameter belongs to someone else.
-- ==
-- error: next value is aliased to zs

entry main [n] (xs: *[n]i32) (zs: [n]i32) = loop ys = xs for i < 3 do let ys[0] = 1 in zs
