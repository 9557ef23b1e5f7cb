-- Functions in arrays, records, branches.

def compose 'a 'b 'c (f: b -> c) (g: a -> b) : a -> c = \x -> f (g x)
def curry3 f a b c = f (a, b, c)
def fix_point (f: i32 -> i32) (x: i32) = let (x, _) = loop (x, p) = (f x, x) while x != p do (f x, x) in x
def choose b = if b then (+ 1) else (* 2)

-- ==
-- entry: a
-- input {} output { 7i32 6i32 0i32 4i32 6i32 }
entry a = (compose (+ 1) (* 2) 3, curry3 (\(a, b, c) -> a + b + c) 1 2 3i32, fix_point (/ 2) 100, choose true 3i32, choose false 3i32)
def fs = [(\(x: i32) -> x + 1), (\x -> x * x), (\_ -> 7)]

-- ==
-- entry: b
-- input { 5i32 } output { [6i32,25,7] }
entry b x = map (\f -> f x) fs
type^ obj = {get: () -> i32, add: i32 -> i32}
def mk (n: i32) : obj = {get = \() -> n, add = \m -> n + m}

-- ==
-- entry: c
-- input { 5i32 } output { 5i32 8i32 }
entry c n = let o = mk n in (o.get (), o.add 3)
def church n = \f x -> loop x for _i < n do f x

-- ==
-- entry: d
-- input {} output { 8i32 [2i32,3] }
entry d = (church 3i32 (* 2) 1i32, church 1i32 (map (+ 1)) [1,2i32])
def foldmap [n] 'a 'b (m: {op: b -> b -> b, ne: b}) (f: a -> b) (xs: [n]a) = reduce m.op m.ne (map f xs)

-- ==
-- entry: e
-- input { [1i32,2,3] } output { 14i32 true }
entry e xs = (foldmap {op = (+), ne = 0} (\x -> x * x) xs, foldmap {op = (&&), ne = true} (> 0) xs)
