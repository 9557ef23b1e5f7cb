-- Records and tuples with functions and sizes in parameters.

type vec 'a [n] = [n]a
type conf [n] = {weights: [n]f64, act: i32, dims: (i64, i64)}
def apply [n][m] (c: conf [n]) (xs: [m][n]f64) : [m]f64 = map (\x -> f64.sum (map2 (*) c.weights x)) xs

-- ==
-- entry: a
-- input { [1.0,2.0] [[1.0,1.0],[2.0,0.5]] } output { [3.0,3.0] }
entry a [n][m] (w: [n]f64) (xs: [m][n]f64) = apply {weights = w, act = 0, dims = (n, m)} xs

-- ==
-- entry: b
-- input { [1.0,2.0] } output { [2.0,4.0] 2i64 }
entry b [n] (w: vec f64 [n]) : (vec f64 [n], i64) = (map (* 2) w, n)
def both [n] 'a 'b (f: a -> b, g: [n]b -> b) (xs: [n]a) : b = g (map f xs)

-- ==
-- entry: c
-- input { [1i32,2,3] } output { 6.0 }
entry c xs = both (f64.i32, f64.sum) xs
def (<+>) [n] (a: [n]i32) (b: [n]i32) : [n]i32 = map2 (+) a b
def (|*|) 'a 'b [n] (a: [n]a) (b: [n]b) = zip a b

-- ==
-- entry: d
-- input { [1i32,2] } output { [2i32,4] [1i32,2] [2i32,4] }
entry d (a: []i32) = let s = a <+> a let (p, q) = unzip (a |*| s) in (s, p, q)
