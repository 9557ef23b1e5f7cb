-- A module type that nobody uses is checked, too.
-- ==
-- error: needs a name

module type summable = { val sum : []i32 -> i32 }
entry main = 1i32
