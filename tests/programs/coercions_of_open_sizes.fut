-- A coercion says how large a whole array is, and nothing about the parts that its size is made of.
-- ==
-- entry: flattened
-- input { 1i64 [[[1i64, 2i64], [3i64, 4i64]]] } output { [[1i64, 2i64, 3i64, 4i64]] }
-- input { 2i64 [[[1i64, 2i64], [3i64, 4i64]]] } error: size mismatch

-- ==
-- entry: appended
-- input { 1i64 [1i64, 2i64, 3i64] } output { [1i64, 2i64, 3i64, 1i64] }

-- ==
-- entry: reshaped
-- input { 3i64 2i64 [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32]] } output { [[1i32, 2i32], [3i32, 4i32], [5i32, 6i32]] }
-- input { 3i64 3i64 [[1i32, 2i32, 3i32], [4i32, 5i32, 6i32]] } error: size mismatch

-- ==
-- entry: literal
-- input { [7i64] } output { [7i64, 1i64, 5i64] }

def flattened_by (k: i64) xss = map (\xs -> (flatten xs) :> [k * 4]i64) xss
def reshape (p: i64) (q: i64) xss: [p][q]i32 = unflatten (flatten xss :> [p * q]i32)

entry flattened (k: i64) (xss: [][][]i64) = flattened_by k xss
entry appended (k: i64) xs = (xs ++ [1i64]) :> [k + 3]i64
entry reshaped (p: i64) (q: i64) (xss: [][]i32) = reshape p q xss
entry literal (xs: []i64) = (\ys -> (ys ++ [1i64, 5]) :> [2 + 1]i64) xs
