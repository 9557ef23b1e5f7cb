-- Derivatives of small functions in both modes.

-- ==
-- entry: a
-- input { [1f32,2,3] } output { [2f32,4,6] }
entry a (xs: []f32) = vjp (\xs -> reduce (+) 0 (map (\x -> x*x) xs)) xs 1

-- ==
-- entry: b
-- input { 3.0 2.0 } output { 2.0 3.0 }
entry b (x: f64) (y: f64) = vjp (\(x, y) -> x * y) (x, y) 1

-- ==
-- entry: c
-- input { [1.0,2.0] } output { [[1.0,0.0],[0.0,1.0]] }
entry c [n] (xs: [n]f64) = map (\i -> jvp id xs (map (\j -> f64.bool (i == j)) (iota n))) (iota n)

-- ==
-- entry: d
-- input { [1.0,2.0,3.0] [0i64,0,1] } output { [1.0,1.0,1.0] }
entry d [n] (xs: [n]f64) (is: [n]i64) = vjp (\xs -> f64.sum (reduce_by_index (replicate 2 0) (+) 0 is xs)) xs 1

-- ==
-- entry: e
-- input { [1.0,2.0,4.0] } output { [8.0,4.0,2.0] }
entry e (xs: []f64) = vjp f64.product xs 1

-- ==
-- entry: f
-- input { 2.0 } output { 12.0 12.0 }
entry f (x: f64) = let g x = x * x * x in (vjp (\x -> vjp g x 1) x 1, jvp (\x -> jvp g x 1) x 1)

-- ==
-- entry: g
-- input { 3i32 } output { 27i32 }
entry g (x: i32) = vjp (\x -> x * x * x) x 1

-- ==
-- entry: h
-- input { [5.0,1.0,3.0] } output { [1.0,0.0,0.0] }
entry h (xs: []f64) = vjp f64.maximum xs 1

-- ==
-- entry: i
-- input { 1.0 } output { 32.0 }
entry i (x: f64) = vjp (\x -> loop y = x for _i < 5i32 do y * 2) x 1

-- ==
-- entry: j
-- input { [1.0,2.0,3.0] } output { [3.0,2.0,1.0] }
entry j (xs: []f64) = vjp (\xs -> f64.sum (scan (+) 0 xs)) xs 1

-- ==
-- entry: k
-- input { [1.0,2.0,3.0] } output { [0.0,1.0,2.0] }
entry k [n] (xs: [n]f64) = vjp (\xs -> f64.sum (map2 (\x i -> x * f64.i64 i) xs (iota n))) xs 1
type r = {a: f64, b: [2]f64}

-- ==
-- entry: l
-- input { 2.0 [1.0,3.0] } output { 4.0 [2.0,2.0] }
entry l (a: f64) (b: [2]f64) = let f (r: r) = r.a * f64.sum r.b in let g = vjp f {a, b} 1 in (g.a, g.b)

-- ==
-- entry: m
-- input { [1.0,-2.0,3.0] } output { [1.0,0.0,1.0] }
entry m (xs: []f64) = vjp (\xs -> f64.sum (filter (> 0) xs)) xs 1

-- ==
-- entry: n
-- input { [[1.0,2.0],[3.0,4.0]] } output { [[1.0,1.0],[1.0,1.0]] }
entry n (xs: [][]f64) = vjp (\xs -> f64.sum (flatten (transpose xs))) xs 1

-- ==
-- entry: o
-- input { 3.0 } output { 6.0 9.0 6.0 }
entry o (x: f64) = let (y, dx) = vjp2 (\x -> x * x) x 1 in (jvp (\x -> x * x) x 1, y, dx)
