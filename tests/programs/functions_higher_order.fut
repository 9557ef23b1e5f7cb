-- Higher-order functions.

def compose 'a 'b 'c (f: b -> c) (g: a -> b) (x: a) : c = f (g x)
def twice 'a (f: a -> a) = compose f f

-- ==
-- entry: a
-- input { 3 } output { 12 7 }
entry a (x: i32) = (twice (*2) x, twice (twice (+1)) x)
def flip' 'a 'b 'c (f: a -> b -> c) (y: b) (x: a) = f x y

-- ==
-- entry: b
-- input { 3 } output { -2 }
entry b (x: i32) = flip' (-) x 1
def pick (b: bool) : i32 -> i32 = if b then (+1) else (*2)

-- ==
-- entry: c
-- input { true 5 } output { 6 }
-- input { false 5 } output { 10 }
entry c (b: bool) (x: i32) = pick b x
def church (n: i32) : (i32 -> i32) -> i32 -> i32 = \f x -> loop x for _i < n do f x

-- ==
-- entry: d
-- input { 3 } output { 8 }
entry d (n: i32) = church n (*2) 1
def fs : [3](i32 -> i32) = [(+1), (*2), \x -> x - 3]

-- ==
-- entry: e
-- input { 10 } output { [11,20,7] }
entry e (x: i32) = map (\f -> f x) fs
type^ obj = {get: () -> i32, add: i32 -> i32}
def mk (s: i32) : obj = {get = \() -> s, add = (+ s)}

-- ==
-- entry: f
-- input { 10 } output { 10 15 }
entry f (x: i32) = let o = mk x in (o.get (), o.add 5)
def curry3 'a 'b 'c 'd (f: (a, b, c) -> d) = \a b c -> f (a, b, c)

-- ==
-- entry: g
-- input {} output { 6 }
entry g = curry3 (\(a, b, c) -> a + b + c : i32) 1 2 3
def foldr' 'a 'b [n] (f: a -> b -> b) (z: b) (xs: [n]a) : b = loop acc = z for i < n do f xs[n-1-i] acc

-- ==
-- entry: h
-- input { [1,2,3] } output { 2 }
entry h (xs: []i32) = foldr' (-) 0 xs
def apply_all [n] 'a (fs: [n](a -> a)) (x: a) = loop x for f in fs do f x

-- ==
-- entry: i
-- input { 1 } output { 4 }
entry i (x: i32) = apply_all [(+1), (*2)] x
def memo = let table = map (** 2) (iota 10) in \(i: i64) -> table[i]

-- ==
-- entry: j
-- input { 4i64 } output { 16i64 }
entry j = memo
def kons 'a 'b (x: a) (y: b) = \(f: a -> b -> a) -> f x y

-- ==
-- entry: k
-- input { 1 } output { 1 }
entry k (x: i32) = kons x true (\a _ -> a)
def mapped [n] 'a 'b : (a -> b) -> [n]a -> [n]b = map

-- ==
-- entry: l
-- input { [1,2] } output { [2.0,3.0] }
entry l (xs: []i32) = mapped (\x -> f64.i32 (x + 1)) xs
def sum_with (f: f64 -> f64) = f64.sum <-< map f

-- ==
-- entry: m
-- input { [1.0,2.0] } output { 5.0 }
entry m (xs: []f64) = sum_with (\x -> x * x) xs
def fix_iter 'a (eq: a -> a -> bool) (f: a -> a) (x: a) = (loop (x, y) = (x, f x) while !(eq x y) do (y, f y)).0

-- ==
-- entry: n
-- input { 100 } output { 0 }
entry n (x: i32) = fix_iter (==) (/ 2) x
def ycomb (n: i32) = let rec fact (n: i32) : i32 = if n == 0 then 1 else n * fact (n - 1) in fact n

-- ==
-- entry: o
-- input { 5 } output { 120 }
entry o = ycomb
def rec even (n: i32) : bool = if n == 0 then true else odd (n - 1)
and odd (n: i32) : bool = if n == 0 then false else even (n - 1)

-- ==
-- entry: p
-- input { 7 } output { false true }
entry p (n: i32) = (even n, odd n)
def newton (f: f64 -> f64) (x0: f64) = loop x = x0 for _i < 20i32 do x - f x / jvp f x 1

-- ==
-- entry: q
-- input { 2.0 } output { 1.4142135623730951 }
entry q (a: f64) = newton (\x -> x * x - a) 1

-- ==
-- entry: r
-- input { [3.0,4.0] } output { [6.0,8.0] }
entry r (xs: []f64) = vjp (\xs -> f64.sum (map (** 2) xs)) xs 1
def pipeline = map (+ 1) >-> map (* 2) >-> reduce (+) 0i32

-- ==
-- entry: s
-- input { [1,2] } output { 10 }
entry s (xs: []i32) = pipeline xs
def on 'a 'b 'c (f: b -> b -> c) (g: a -> b) (x: a) (y: a) = f (g x) (g y)

-- ==
-- entry: t
-- input {} output { true }
entry t = ((<=) `on` (.0)) (1i32, 5f32) (2, 3)
def loopf (n: i32) = loop f = id for i < n do (\(x: i32) -> f x + i)

-- ==
-- entry: u
-- input { 4 } output { 6 }
entry u (n: i32) = loopf n 0
