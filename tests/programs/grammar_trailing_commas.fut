-- A comma after the last of everything.

type r = {a: i32, b: i32,}
def t = (1i32, 2i32,)
def xs = [1i32, 2, 3,]

-- ==
-- entry: main
-- input {} output { 1i32 2i32 3i64 5i32 }
entry main = let {a, b,} = {a = 2i32, b = 3i32,} in (t.0, t.1, length xs, a + b)
