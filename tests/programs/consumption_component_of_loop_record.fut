-- A loop consumes one component of its parameter.
-- ==
-- error: was consumed

entry main [n] (xs: *[n]i32) = let r = loop st = (xs, 0i32) for i < 3 do (st.0 with [0] = 1, st.1) in (r, xs)
