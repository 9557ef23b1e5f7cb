-- Functions, polymorphism, sizes.

def id2 'a (x: a) = x
def pair 'a 'b (x: a) (y: b) : (a, b) = (x, y)
def apply_n 'a (n: i32) (f: a -> a) (x: a) = loop x for _i < n do f x

-- ==
-- entry: a
-- input { 2 } output { 2 2.5 5 }
entry a (x: i32) = let (p, q) = pair x 2.5 in (id2 p, id2 q, apply_n 3 (+1) x)
def matmul [n][m][p] (a: [n][m]f64) (b: [m][p]f64) : [n][p]f64 =
  map (\r -> map (\c -> f64.sum (map2 (*) r c)) (transpose b)) a

-- ==
-- entry: mm
-- input { [[1.0,2.0],[3.0,4.0]] [[5.0,6.0],[7.0,8.0]] } output { [[19.0,22.0],[43.0,50.0]] }
entry mm [n] (a: [n][n]f64) (b: [n][n]f64) = matmul a b

-- ==
-- entry: cat
-- input { [1,2] } output { [0,1,2] 3i64 }
entry cat [n] (xs: [n]i32) : ([n+1]i32, i64) = let ys = [0] ++ xs : [1+n]i32 in (ys :> [n+1]i32, length ys)
def chunk [n] 'a (k: i64) (xs: [n]a) : [n/k][k]a = unflatten (take ((n/k)*k) xs)

-- ==
-- entry: ch
-- input { [1,2,3,4,5] } output { [[1,2],[3,4]] }
entry ch (xs: []i32) = chunk 2 xs
def f_size [n] (_: [n]()) = n

-- ==
-- entry: units
-- input { 4i64 } output { 4i64 }
entry units (n: i64) = f_size (replicate n ())
def ack (m: i32) (n: i32) : i32 = if m == 0 then n + 1 else if n == 0 then ack (m - 1) 1 else ack (m - 1) (ack m (n - 1))

-- ==
-- entry: acks
-- input { 2 3 } output { 9 }
entry acks = ack
def opt_map 'a 'b (f: a -> b) (x: #none | #some a) : #none | #some b = match x case #none -> #none case #some y -> #some (f y)

-- ==
-- entry: om
-- input { 3 } output { 4 }
entry om (x: i32) = match opt_map (+1) (#some x) case #some y -> y case #none -> 0

-- ==
-- entry: locals
-- input { 3 } output { 10 7.0 [3,4]}
entry locals (x: i32) =
  let twice f y = f (f y)
  let add a b = a + b
  let add3 = add 3
  let g [n] (xs: [n]i32) = map (+ x) xs
  in (twice (+ 2) x + 3, twice (+ 2.0) 3.0, g [0, 1])

-- ==
-- entry: exist
-- input { [1,-1,2] } output { [1,2] 2i64 }
entry exist (xs: []i32) = let ys = filter (> 0) xs in (ys, length ys)

-- ==
-- entry: letsz
-- input { [1,2,3] } output { 3i64 6 }
entry letsz (xs: []i32) = let [k] (ys: [k]i32) = map (+1) xs in (k, i32.sum ys - i32.i64 k)
def exists_ret (n: i64) : ?[m].[m]i64 = filter (\x -> x % 2 == 0) (iota n)

-- ==
-- entry: er
-- input { 5i64 } output { [0i64,2,4] }
entry er = exists_ret
type~ vec = ?[n].[n]i32
def mkvec (n: i64) : vec = replicate n 1

-- ==
-- entry: vecs
-- input { 3i64 } output { 3i64 }
entry vecs (n: i64) = length (mkvec n)

-- ==
-- entry: shadow
-- input { 1 } output { 4 }
entry shadow (x: i32) = let x = x + 1 let x = x * 2 in x

-- ==
-- entry: tup2
-- input { 1 2.0 true } output { 1 2.0 true }
entry tup2 (t: (i32, (f64, bool))) = (t.0, t.1.0, t.1.1)

-- ==
-- entry: recin
-- input { 1 2.0 } output { 2 1.0 }
entry recin (r: {a: i32, b: f64}) = (r.a + 1, r.b / 2)

-- ==
-- entry: recout
-- input { 1 } output { 1 2 }
entry recout (x: i32) : {a: i32, b: i32} = {b = x + 1, a = x}

-- ==
-- entry: arrtup
-- input { [1,2] [3.0,4.0] } output { [2,3] [1.5,2.0] }
entry arrtup [n] (xs: [n]i32) (ys: [n]f64) = map2 (\x y -> (x + 1, y / 2)) xs ys

-- ==
-- entry: unique
-- input { [3,1] } output { [3,9] [3,1] }
entry unique (xs: *[]i32) = let ys = copy xs in (ys with [1] = 9, xs)

-- ==
-- entry: attrs
-- input { [1,2] } output { [2,3] 3 }
entry attrs (xs: []i32) = (#[sequential] map (+1) xs, #[unsafe] let x = xs[0] in #[noinline] x + 2)

-- ==
-- entry: tr
-- input { 1 } output { 2 }
entry tr (x: i32) = trace (x + 1)

-- ==
-- entry: h16
-- input { 1.5f16 } output { 2.5f16 1i32 3f32}
entry h16 (x: f16) = (x + 1, i32.f16 x, f32.f16 (x * 2))

-- ==
-- entry: ovf
-- input { 2147483647 127i8 } output { -2147483648 -128i8 }
entry ovf (x: i32) (y: i8) = (x + 1, y + 1)

-- ==
-- entry: divz
-- input { 1 0 } error: .
entry divz (x: i32) (y: i32) = x / y

-- ==
-- entry: u8s
-- input { 250u8 10u8 } output { 4u8 240u8 25u8 true }
entry u8s (a: u8) (b: u8) = (a + b, a - b, a / b, a > b)
