-- Slices with strides of either sign.

-- ==
-- entry: a
-- input { [0i32,1,2,3,4,5] } output { [5i32,4,3,2,1,0] [1i32,3] [5i32,3,1] [4i32,3] empty([0]i32) [3i32,2,1,0] }
entry a (xs: []i32) = (xs[::-1], xs[1:5:2], xs[::-2], xs[4:2:-1], xs[3:3], xs[3::-1])

-- ==
-- entry: b
-- input { [[1i32,2,3],[4i32,5,6]] } output { [6i32,5] [[3i32,2,1],[6i32,5,4]] [2i32,5] }
entry b (xs: [][]i32) = (xs[1, 2:0:-1], xs[:, ::-1], xs[:,1])

-- ==
-- entry: c
-- input { [1i32,2,3] 2i64 } output { [1i32,2] [3i32] }
-- input { [1i32,2,3] 4i64 } error: .
entry c [n] (xs: [n]i32) (i: i64) = (xs[:i], xs[i:])

-- ==
-- entry: d
-- input { [1i32,2,3] } error: bounds
entry d [n] (xs: [n]i32) = xs[-1]

-- ==
-- entry: e
-- input { [1i32,2,3] } output { 3i64 [3i32,2,1] }
entry e [n] (xs: [n]i32) = let ys = xs[n-1::-1] in (length ys, ys)
