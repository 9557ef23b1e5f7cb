-- Size parameters that only the type of a returned function mentions.

def f [n] = \(xs: [n]i32) -> n
def g [n] (x: i32) = \(xs: [n]i32) -> i32.i64 n + x

-- ==
-- entry: a
-- input { [1,2] } output { 2i64 5 }
entry a (xs: []i32) = (f xs, g 3 xs)
