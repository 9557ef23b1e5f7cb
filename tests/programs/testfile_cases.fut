-- Description
-- of several lines
-- ==
-- tags { foo bar-baz }
-- entry: a b
-- "small" input { 1 } output { 2 }
-- "named" input { 3i32 }
-- output { 4i32 }
-- input { 2147483647i32 }
-- output { -2147483648i32 }
entry a (x: i32) = x + 1
entry b (x: i32) = 1 + x

-- ==
-- entry: c
-- input { true false } output { false true }
-- input { [true, false] [1.5f32, -2, f32.inf] } error: .
entry c (x: bool) (y: bool) = (y, x)

