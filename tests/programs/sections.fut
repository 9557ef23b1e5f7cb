-- Sections of operators and projections.

-- ==
-- entry: a
-- input { [1i32,2,3] } output { [2i32,4,6] [0i32,1,2] [9i32,8,7] [7i32,14,21] }
entry a (xs: []i32) = (map (*2) xs, map (\x -> x-1) xs, map (10-) xs, map (* reduce (+) 1 [1,2,3]) xs)
type p = {x: i32, y: {z: i32, w: [2]i32}}
def ps : [2]p = [{x=1,y={z=2,w=[3,4]}},{x=5,y={z=6,w=[7,8]}}]

-- ==
-- entry: b
-- input {} output { [1i32,5] [2i32,6] [4i32,8] [3i32,4i32] }
entry b = (map (.x) ps, map (.y.z) ps, map (\p -> p.y.w[1]) ps, (.y.w) ps[0])

-- ==
-- entry: c
-- input { [[1i32,2],[3i32,4]] } output { 3i32 [2i32,4] }
entry c (xss: [][]i32) = ((.[1,0]) xss, map (.[1]) xss)

-- ==
-- entry: d
-- input {} output { [2i64,3] [true,false] }
entry d = (map (`i64.max` 2) [1,3], map (< 2) [1,3i32])
