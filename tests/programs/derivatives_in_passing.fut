-- Derivatives of what ordinary programs are made of.

-- ==
-- entry: a
-- input { [1.0,2.0,3.0] } output { [2.0,4.0,6.0] }
entry a [n] (xs: [n]f64) = vjp (\ys -> f64.sum (map (\y -> y * y) ys)) xs 1

-- ==
-- entry: b
-- input { 2.0 3.0 } output { 3.0 2.0 }
entry b x y = vjp (\(a, b) -> a * b) (x, y) 1f64

-- ==
-- entry: c
-- input { [1.0,2.0] } output { [[2.0,0.0],[0.0,4.0]] [[2.0,0.0],[0.0,4.0]] }
entry c [n] (xs: [n]f64) = (map (\i -> jvp (map (\x -> x * x)) xs (tabulate n (\j -> f64.bool (i == j)))) (iota n), jacrev (map (\x -> x * x)) xs)
def f (m: {w: [2]f64, b: f64}) (x: [2]f64) = f64.sum (map2 (*) m.w x) + m.b

-- ==
-- entry: d
-- input {} output { [3.0,4.0] 1.0 }
entry d = let g = vjp (\m -> f m [3,4]) {w = [1,2], b = 0} 1 in (g.w, g.b)

-- ==
-- entry: e
-- input { [1.0,2.0,3.0] [0i64,1,0] } output { [3.0,2.0,1.0] }
entry e [n] (xs: [n]f64) (is: [n]i64) = vjp (\xs -> let h = hist (*) 1 2 is xs in h[0] + h[1] * 2) xs 1

-- ==
-- entry: g
-- input { 2.0 } output { 12.0 12.0 }
entry g x = (vjp (\x -> vjp (\y -> y ** 3) x 1) x 1, hessian (\x -> x[0] ** 3) [x] |> (\h -> h[0,0]))

-- ==
-- entry: h
-- input { [3i32,4] } output { [4i32,3] }
entry h (xs: [2]i32) = vjp i32.product xs 1

-- ==
-- entry: i
-- input { 5.0 3i32 } output { 75.0 }
entry i (x: f64) (n: i32) = vjp (\x -> loop acc = 1 for _i < n do acc * x) x 1f64
