-- Sizes known from values.

def two (n: i64) : ?[k].([k]i64, [k]bool) = let xs = filter (\x -> x % 3 == 0) (iota n) in (xs, map (> 3) xs)

-- ==
-- entry: a
-- input { 7i64 } output { [0i64,3,6] [false,false,true] 3i64 }
entry a (n: i64) = let (x, y) = two n in let z = zip x y in (x, y, length z)
def use_dep (f: (n: i64) -> [n]i32) : i32 = i32.sum (f 3) + i32.sum (f 2)

-- ==
-- entry: b
-- input {} output { 5 }
entry b = use_dep (\n -> replicate n 1)
module type vecm = { type vec [n] val mk : (n: i64) -> i32 -> vec [n] val dot [n] : vec [n] -> vec [n] -> i32 }
module vecs : vecm = { type vec [n] = [n]i32 def mk n x = replicate n x def dot [n] (a: vec [n]) (b: vec [n]) = i32.sum (map2 (*) a b) }

-- ==
-- entry: c
-- input { 3i64 } output { 6 }
entry c (n: i64) = vecs.dot (vecs.mk n 1) (vecs.mk n 2)
type~ sparse = ?[k].{idx: [k]i64, vals: [k]f64}
def mk_sparse (xs: []f64) : sparse = let (i, v) = unzip (filter (\(_, v) -> v != 0) (zip (indices xs) xs)) in {idx = i, vals = v}
def sdot (s: sparse) (ys: []f64) = f64.sum (map2 (\i v -> v * ys[i]) s.idx s.vals)

-- ==
-- entry: d
-- input { [1.0,0.0,2.0] [3.0,4.0,5.0] } output { 13.0 }
entry d (xs: []f64) (ys: []f64) = sdot (mk_sparse xs) ys
def szfun [n][m] (xs: [n]i32) (ys: [m]i32) (f: [n]i32 -> [m]i32 -> i32) = f xs ys

-- ==
-- entry: e
-- input { [1,2] [3] } output { 6 }
entry e (xs: []i32) (ys: []i32) = szfun xs ys (\a b -> i32.sum a + i32.sum b)
def pairs [n] (xs: [n]i32) : [n*n](i32, i32) = flatten (map (\x -> map (\y -> (x, y)) xs) xs)

-- ==
-- entry: f
-- input { [1,2] } output { [1,1,2,2] [1,2,1,2] }
entry f (xs: []i32) = unzip (pairs xs)
def idmat (n: i64) : [n][n]i32 = tabulate_2d n n (\i j -> i32.bool (i == j))

-- ==
-- entry: g
-- input { 2i64 } output { [[1,0],[0,1]] }
entry g = idmat
def expand 'a 'b (sz: a -> i64) (get: a -> i64 -> b) (arr: []a) : []b =
  let szs = map sz arr
  let (flat, _) = loop (acc, i) = ([], 0) while i < length arr do (acc ++ map (get arr[i]) (iota szs[i]), i + 1)
  in flat

-- ==
-- entry: h
-- input { [1i64,0,2] } output { [10i64,20,21] }
entry h (xs: []i64) = expand id (\x i -> x * 10 + i) xs
def blocks [n] (k: i64) (xs: [n*k]i32) : [n]i32 = map i32.sum (unflatten xs)

-- ==
-- entry: i
-- input { [1,2,3,4] } output { [3,7] }
entry i (xs: [4]i32) = blocks 2 (xs :> [2*2]i32)
def f_named (n: i64) (xs: [n]i32) (m: i64) (ys: [m]i32) : [n+m]i32 = xs ++ ys

-- ==
-- entry: j
-- input { 1i64 [1] 2i64 [2,3] } output { [1,2,3] }
-- input { 2i64 [1] 2i64 [2,3] } error: .
entry j (n: i64) (xs: []i32) (m: i64) (ys: []i32) = f_named n (xs :> [n]i32) m (ys :> [m]i32)

-- ==
-- entry: k
-- input { 2i64 [1,2] } output { 3 }
-- input { 3i64 [1,2] } error: .
entry k (n: i64) (xs: [n]i32) = i32.sum xs
def emptyrow (n: i64) : [0][n]i32 = []

-- ==
-- entry: l
-- input { 3i64 } output { empty([0][3]i32) 3i64 }
entry l (n: i64) = let e = emptyrow n in (e, length (transpose e))
def getn [n] 'a (_: [n]a) : i64 = n

-- ==
-- entry: m
-- input { [1,2,3] } output { 3i64 2i64 }
entry m (xs: []i32) = (getn xs, getn (filter (>1) xs))
def cond_size (b: bool) (n: i64) = let m = if b then n else n + 1 in iota m

-- ==
-- entry: n
-- input { false 2i64 } output { [0i64,1,2] }
entry n = cond_size
def rows [n][m] (xss: [n][m]f64) = map (\r -> (f64.sum r / f64.i64 m)) xss

-- ==
-- entry: o
-- input { [[1.0,3.0],[2.0,4.0]] } output { [2.0,3.0] }
entry o (x: [][]f64) = rows x
type point = (f64, f64)
def dist (a: point) (b: point) = f64.sqrt ((a.0 - b.0)**2 + (a.1 - b.1)**2)

-- ==
-- entry: p
-- input { [0.0,3.0] [0.0,4.0] } output { 5.0 }
entry p (xs: [2]f64) (ys: [2]f64) = let ps : [2]point = zip xs ys in dist ps[0] ps[1]
def argmin [n] (xs: [n]f64) : i64 = (reduce_comm (\(i, x) (j, y) -> if x < y || (x == y && i < j) then (i, x) else (j, y)) (n, f64.inf) (zip (iota n) xs)).0

-- ==
-- entry: q
-- input { [3.0,1.0,2.0] } output { 1i64 }
entry q (xs: []f64) = argmin xs
module mk_stack (P: { type elem val size : i64 val dummy : elem }) = {
  type stack = {data: [P.size]P.elem, top: i64}
  def empty : stack = {data = replicate P.size P.dummy, top = 0}
  def push (x: P.elem) (s: stack) : stack = {data = copy s.data with [s.top] = x, top = s.top + 1}
  def pop (s: stack) : (P.elem, stack) = (s.data[s.top - 1], s with top = s.top - 1)
}
module istack = mk_stack { type elem = i32 def size = 10i64 def dummy = 0i32 }

-- ==
-- entry: r
-- input { 1 2 } output { 2 1 }
entry r (a: i32) (b: i32) = let s = istack.push b (istack.push a istack.empty) let (x, s) = istack.pop s let (y, _) = istack.pop s in (x, y)
