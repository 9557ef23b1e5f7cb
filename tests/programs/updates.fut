-- Updates of elements and slices.

-- ==
-- entry: a
-- input { [[1i32,2],[3i32,4]] } output { [[1i32,9],[3i32,4]] }
entry a (xs: *[][]i32) = let xs[0,1] = 9 in xs

-- ==
-- entry: b
-- input { [1i32,2,3,4] } output { [1i32,7,8,4] }
entry b (xs: *[]i32) = xs with [1:3] = [7,8]

-- ==
-- entry: c
-- input { [1i32,2,3,4] } output { [5i32,2,6,4] }
entry c (xs: *[]i32) = let xs[::2] = [5,6] in xs

-- ==
-- entry: d
-- input { [[1i32,2],[3i32,4]] } output { [[7i32,2],[8i32,4]] }
entry d (xs: *[][]i32) = xs with [:,0] = [7,8]

-- ==
-- entry: e
-- input { 4i64 } output { [0i64,1,3,6] }
entry e (n: i64) = loop a = replicate n 0 for i < n do if i == 0 then a else a with [i] = a[i-1] + i

-- ==
-- entry: f
-- input { [1i32,2,3] } output { [1i32,3,6] }
entry f [n] (xs: *[n]i32) = loop xs for i in 1..<n do let xs[i] = xs[i] + xs[i-1] in xs
