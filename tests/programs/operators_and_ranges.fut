-- Operators and ranges at several types.

-- ==
-- entry: a
-- input {} output { [3i32,1] 7i32 -5i32 true }
entry a = ([3,1] with [0] = 3, 1 + 2 * 3, -(2 + 3), !false && true || false)

-- ==
-- entry: b
-- input { 6i32 } output { 4i32 7i32 3i32 12i32 3i32 -7i32 }
entry b (x: i32) = (x & 5, x | 1, x ^ 5, x << 1, x >> 1, !x)

-- ==
-- entry: c
-- input { 250u8 } output { 5u8 125u8 }
entry c (x: u8) = (!x, x >> 1)

-- ==
-- entry: d
-- input {} output { [0i64,1,2] [1i64,3,5] [0i64,1,2,3] [3i64,2,1] }
entry d = (0i64..<3, 1i64..3...5, 0i64...3, 3i64..>0)

-- ==
-- entry: e
-- input { 5i32 } output { [5i32,4,3,2,1] [4i32,3,2,1,0] }
entry e n = (n..n-1...1, n-1..n-2...0)

-- ==
-- entry: f
-- input { 0i32 } output { empty([0]i32) empty([0]i32) }
entry f n = (0..<n, 3..<n+3)

-- ==
-- entry: g
-- input { 3i32 1i32 } error: .
entry g (a: i32) (b: i32) = a..<b

-- ==
-- entry: h
-- input { 3i32 } output { 9i32 }
entry h x = x |> \y -> y * y

-- ==
-- entry: i
-- input {} output { 1i32 2i32 }
entry i = let f = \x y -> (x, y) in 1i32 `f` 2i32

-- ==
-- entry: j
-- input {} output { [2i32,3] }
entry j = [1,2] |> map (+1) |> (\xs -> xs : [2]i32)

-- Literals say how many elements a range has before its type is known.
-- ==
-- entry: k
-- input {} output { [0i64,1,2,3] [2i32,4,6] [5i64,5,5] }
def applied 'b (f: b -> b) (x: b): b = f x
entry k = (applied (\(_: [4]i64) -> 0..<4) (replicate 4 1), map2 (+) (1...3) [1i32, 2, 3], map2 (+) (4..>1) [1i64, 2, 3])
