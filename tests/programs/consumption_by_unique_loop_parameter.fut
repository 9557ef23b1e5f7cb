-- A loop whose parameter is unique takes its initial value, whether the body updates it or not.
-- ==
-- error: consumed

entry bad2 [n] (a: [n]i32) = let xs = copy a let r = (loop (zs: *[n]i32) = xs for _i < 3i32 do copy zs) in (r, xs)
