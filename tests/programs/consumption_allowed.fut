-- Valid uses of uniqueness.

-- ==
-- entry: a
-- input { [1,2,3] } output { [1,0,3] }
entry a (xs: *[]i32) : *[]i32 = let xs = xs with [1] = 0 in xs
def upd (xs: *[]i32) (i: i64) (v: i32) : *[]i32 = xs with [i] = v

-- ==
-- entry: b
-- input { [1,2,3] } output { [5,2,6] }
entry b (xs: *[]i32) = upd (upd xs 0 5) 2 6

-- ==
-- entry: c
-- input { [1,2,3] } output { [1,2,3] [9,2,3] }
entry c (xs: []i32) = (xs, copy xs with [0] = 9)

-- ==
-- entry: d
-- input { [[1,2],[3,4]] } output { [[0,2],[3,0]] }
entry d [n] (xs: *[n][n]i32) = loop xs for i < n do xs with [i,i] = 0

-- ==
-- entry: e
-- input { 3i64 } output { [0i64,1,2] [0,0,0] }
entry e (n: i64) = let (a, b) = (replicate n 0, replicate n 0) let a = loop a for i < n do a with [i] = i in (a, b)

-- ==
-- entry: f
-- input { [1,2] [3,4] } output { [9,2] [3,9] }
entry f (t: *([]i32, []i32)) = (t.0 with [0] = 9, t.1 with [1] = 9)

-- ==
-- entry: g
-- input { [1,2] } output { [7,2] 1 }
entry g (xs: *[]i32) = let x = xs[0] let xs[0] = 7 in (xs, x)

-- ==
-- entry: h
-- input { [1,2,3,4] } output { [2,1,3,4] }
entry h (xs: *[]i32) = let (a, b) = (xs[0], xs[1]) in xs with [0] = b with [1] = a

-- ==
-- entry: i
-- input { [1,2,3] [0i64,1] } output { [10,10,3] }
entry i (xs: *[]i32) (is: []i64) = scatter xs is (map (const 10) is)

-- ==
-- entry: j
-- input { true [1,2] } output { [0,2] }
-- input { false [1,2] } output { [1,0] }
entry j (b: bool) (xs: *[]i32) = if b then xs with [0] = 0 else xs with [1] = 0

-- ==
-- entry: k
-- input { [3,2,1] } output { [1,2,3] }
entry k [n] (xs: *[n]i32) =
  let swap (xs: *[n]i32) (i: i64) (j: i64) : *[n]i32 = let t = xs[i] let xs[i] = xs[j] in xs with [j] = t
  in swap xs 0 2

-- ==
-- entry: l
-- input { [1,2,3] } output { [1,3,6] }
entry l [n] (xs: *[n]i32) = loop xs for i in 1..<n do let xs[i] = xs[i] + xs[i-1] in xs

-- ==
-- entry: m
-- input { [[1,2],[3,4]] } output { [[3,4],[1,2]] }
entry m (xs: *[][]i32) = let r0 = copy xs[0] let xs[0] = copy xs[1] in xs with [1] = r0

-- ==
-- entry: n
-- input { [1,2] } output { [5,2] 1 }
entry n (xs: *[]i32) = let s : {arr: []i32, n: i32} = {arr = xs, n = 1} in let r = s with arr = (s.arr with [0] = 5) in (r.arr, r.n)

-- ==
-- entry: o
-- input { [1,2,3] } output { [2,3,4] }
entry o (xs: []i32) = let ys = map (+1) xs let zs = ys with [0] = ys[0] in zs

-- ==
-- entry: p
-- input { 2 [1,2] } output { [3,2] }
entry p (n: i32) (xs: *[]i32) = (loop (xs, i) = (xs, 0) while i < n do (xs with [0] = xs[0] + 1, i + 1)).0

-- ==
-- entry: q
-- input { [1,2,3] } output { [1,2,3] [4,2,3] }
entry q (xs: []i32) = let ys = copy xs let ys[0] = 4 in (xs, ys)
def fold_upd [n] (acc: *[n]i32) (x: i64) : *[n]i32 = let acc[x] = acc[x] + 1 in acc

-- ==
-- entry: r
-- input { [0i64,1,1] } output { [1,2,0] }
entry r (xs: []i64) = loop acc = replicate 3 0 for x in xs do fold_upd acc x

-- ==
-- entry: s
-- input { [1,2,3] } output { [[0,2,3],[1,0,3],[1,2,0]] }
entry s [n] (xs: [n]i32) = map (\i -> copy xs with [i] = 0) (iota n)

-- ==
-- entry: t
-- input { [[1,2],[3,4]] } output { [[0,2],[0,4]] }
entry t (xss: [][]i32) = map (\xs -> let xs = copy xs in xs with [0] = 0) xss

-- ==
-- entry: u
-- input { [1,2,3] } output { 6 [9,2,3] }
entry u (xs: *[]i32) = let s = i32.sum xs let xs[0] = 9 in (s, xs)

-- ==
-- entry: v
-- input { [1,2,3,4] } output { [1,2] [9,4] }
entry v (xs: *[4]i32) = let (a, b) = split (xs :> [2+2]i32) in (copy a, copy b with [0] = 9)

-- ==
-- entry: w
-- input { [1.0,2.0] } output { [2.0,4.0] }
entry w [n] (xs: *[n]f64) = #[unsafe] loop xs for i < n do xs with [i] = 2 * xs[i]
def helper (a: *[]i32) (b: []i32) = (a with [0] = b[0], b)

-- ==
-- entry: x
-- input { [1] [2] } output { [2] [2] }
entry x (a: *[]i32) (b: []i32) = helper a b

-- ==
-- entry: y
-- input { [1,2] } output { [[1,2],[1,2]] }
entry y (a: []i32) = let m = replicate 2 a in m with [0] = a

-- ==
-- entry: z
-- input { [1,2] } output { [3,2] }
entry z (a: *[]i32) = match a[0] case 1 -> a with [0] = 3 case _ -> a

-- ==
-- entry: aa
-- input { [1,2,3] } output { [3,3,3] }
entry aa [n] (a: *[n]i32) =
  let go (a: *[n]i32) = loop a = a for i < n do let a[i] = 3 in a
  in go a

-- ==
-- entry: ab
-- input { [1,2,3] 1i64 } output { [1,7,3] }
entry ab (a: *[]i32) (i: i64) = let a[i:i+1] = [7] in a

-- ==
-- entry: ac
-- input { 3i64 } output { [[0,0,0],[0,1,0],[0,0,2]] }
entry ac (n: i64) = loop m = replicate n (replicate n 0) for i < n do let m[i, i] = i32.i64 i in m

-- ==
-- entry: ad
-- input { [1,2,3] } output { [4,1] }
entry ad (xs: []i32) = let hist = replicate 2 0 let hist = reduce_by_index hist (+) 0 (map (\x -> i64.i32 (x % 2) ^ 1) xs) xs in hist with [1] = hist[1] - 1

-- ==
-- entry: ae
-- input { [1,2] } output { [1,2] 2 }
entry ae (xs: *[]i32) : (*[]i32, i32) = let n = xs[1] in (xs, n)

-- ==
-- entry: af
-- input { [1,2] } output { [5,2] [1,2] }
entry af (xs: *[]i32) = let ys = map id xs let xs[0] = 5 in (xs, ys)

-- ==
-- entry: ag
-- input { [[1,2],[3,4]] } output { [[9,2],[3,4]] }
entry ag (xs: *[][]i32) = let row = copy xs[0] let row[0] = 9 in xs with [0] = row

-- ==
-- entry: ah
-- input { [1,2] } output { [2,3] }
entry ah (xs: *[]i32) = let f (x: i32) = x + 1 in loop xs for i < 2 do xs with [i] = f xs[i]
