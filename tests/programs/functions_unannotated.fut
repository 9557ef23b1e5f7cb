-- Parameters without types, with sizes inferred.

def dot xs ys = reduce (+) 0 (map2 (*) xs ys)
def swap (a, b) = (b, a)
def twice f = f >-> f
def toarrs = map (\(a, b) -> [a, b])
def diag xs = map (\i -> map (\j -> if i == j then xs[i] else 0) (indices xs)) (indices xs)

-- ==
-- entry: a
-- input {} output { 11i32 [[1i32,3],[2i32,4]] [[true,false]] 12i32 2i32 1.0 [[5i32,0],[0i32,6]] }
entry a = (dot [1,2] [3,4], toarrs (zip [1,2] [3,4i32]), toarrs [(true,false)], twice (* 2) 3, (swap (1.0, 2i32)).0, (swap (1.0, 2i32)).1, diag [5,6])
