-- Patterns as parameters.

def f (x, y: i32) = x + y
def g (x: i32, (y: i32, z)) = x + y + z
def h ({a, b = c}: {a: i32, b: i32}) = a - c
def k (_: i32) () (x: i32) = x

-- ==
-- entry: a
-- input {} output { 3i32 6i32 -1i32 9i32 }
entry a = (f (1, 2), g (1, (2, 3)), h {a = 1, b = 2}, k 1 () 9)

-- ==
-- entry: b
-- input { [1i32,2] [3i32,4] } output { [4i32,6] }
entry b (xs, ys) : [2]i32 = map2 (+) xs ys

-- ==
-- entry: c
-- input {} output { [3i32,7] [5i32] }
entry c = (map (\(a, b) -> a + b) [(1, 2), (3, 4)], map (\{x, y} -> x + y) [{x = 2, y = 3}])

-- ==
-- entry: d
-- input {} output { 6i32 }
entry d = (\x (y, z): i32 -> x + y + z) 1 (2, 3)
