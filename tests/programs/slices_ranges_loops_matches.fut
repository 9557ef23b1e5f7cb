-- Slices, ranges, updates, loops and matches.

-- ==
-- entry: slices
-- input { [0,1,2,3,4,5,6,7,8,9] } output { [2,3,4] [0,1] [8,9] [9,8,7,6,5,4,3,2,1,0] [1,3,5] [5,4,3] [9,7,5,3,1] }
entry slices (xs: [10]i32) = (xs[2:5], xs[:2], xs[8:], xs[::-1], xs[1:6:2], xs[5:2:-1], xs[::-2])

-- ==
-- entry: slice2
-- input { [[1,2,3],[4,5,6]] } output { [2,5] [[3,2,1],[6,5,4]] [[5,6]] [[4,5,6]] }
entry slice2 (a: [2][3]i32) = (a[:,1], a[:,::-1], a[1:,1:], a[1:])

-- ==
-- entry: ranges
-- input {} output { [0i64,1,2] [0i64,1,2,3] [5i64,4,3] [0i64,2,4] [5i64,4,3,2,1,0] [10i64,7,4,1] [1i64,3,5] }
entry ranges = (0..<3i64, 0...3i64, 5..>2i64, 0..2..<5i64, 5..4...0i64, 10..7..>0i64, 1..3...6i64)

-- ==
-- entry: ranges8
-- input {} output { [-3i8,-1,1,3] empty([0]i64) }
entry ranges8 = (-3..-1...3i8, 0..<0i64)

-- ==
-- entry: badrange
-- input { 5i64 1i64 } error: .
-- input { 1i64 3i64 } output { [1i64,2] }
entry badrange (a: i64) (b: i64) = a..<b

-- ==
-- entry: upd
-- input { [1,2,3] } output { [1,9,3] }
entry upd (xs: *[]i32) = xs with [1] = 9

-- ==
-- entry: upd2
-- input { [1,2,3,4] } output { [1,7,8,4] }
entry upd2 (xs: *[4]i32) = let xs[1:3] = [7,8] in xs

-- ==
-- entry: upd3
-- input { [[1,2],[3,4]] } output { [[1,5],[3,4]] }
entry upd3 (xs: *[2][2]i32) = let xs[0,1] = 5 in xs

-- ==
-- entry: upd4
-- input { [[1,2],[3,4]] } output { [[5,6],[3,4]] }
entry upd4 (xs: *[2][2]i32) = xs with [0] = [5,6]
type p = {x: i32, y: {z: f64, w: [2]i32}}

-- ==
-- entry: recs
-- input { 3 } output { 4 2.5 [1,2] 3 }
entry recs (a: i32) =
  let r : p = {x = a, y = {z = 1.5, w = [1,2]}}
  let r2 = r with x = a + 1
  let r3 = r2 with y.z = 2.5
  in (r3.x, r3.y.z, r3.y.w, r.x)

-- ==
-- entry: pats
-- input { 1 2 3 } output { 6 3 }
entry pats (a: i32) (b: i32) (c: i32) =
  let (x, (y, z)) = (a, (b, c))
  let {p = q, r} = {p = x, r = y}
  in (x + y + z, q + r)

-- ==
-- entry: loops
-- input { 5 } output { 10 120 8 15 }
entry loops (n: i32) =
  let s = loop acc = 0 for i < n do acc + i
  let (f, _) = loop (f, i) = (1, 1) while i <= n do (f * i, i + 1)
  let w = loop x = 1 while x < n do x * 2
  let t = loop acc = 0 for x in [1,2,3,4,5] do acc + x
  in (s, f, w, t)

-- ==
-- entry: loop2
-- input { 3i64 } output { [0i64,1,2] }
entry loop2 (n: i64) = loop xs = replicate n 0 for i < n do xs with [i] = i

-- ==
-- entry: loop3
-- input { 3 } output { 9 2 }
entry loop3 (x: i32) = let y = 2 in loop (x, y) for _i < 3i32 do (x + y, y)

-- ==
-- entry: loop4
-- input { [[1,2],[3,4]] } output { 10 }
entry loop4 (xss: [][]i32) = loop acc = 0 for row in xss do acc + i32.sum row

-- ==
-- entry: loop5
-- input { [1,2] [3.0,4.0] } output { 11.0 }
entry loop5 (xs: []i32) (ys: []f64) = loop acc = 0 for (x, y) in zip xs ys do acc + f64.i32 x * y
type opt 'a = #none | #some a
type shape = #circle f64 | #rect {w: f64, h: f64} | #tri f64 f64 f64

-- ==
-- entry: area
-- input { 0 } output { 3.0 }
-- input { 1 } output { 6.0 }
-- input { 2 } output { 12.0 }
entry area (k: i32) =
  let s : shape = match k case 0 -> #circle 1 case 1 -> #rect {w = 2, h = 3} case _ -> #tri 3 4 5
  in match s case #circle r -> 3 * r * r case #rect {w, h} -> w * h case #tri a b c -> a + b + c

-- ==
-- entry: nested
-- input { 1 2 } output { 3 }
-- input { 0 2 } output { 100 }
-- input { 5 0 } output { 7 }
entry nested (a: i32) (b: i32) : i32 =
  match (if a == 0 then #none else #some (a, b) : opt (i32, i32))
  case #none -> 100
  case #some (_, 0) -> 7
  case #some (x, y) -> x + y

-- ==
-- entry: lits
-- input { -1 } output { 1 }
-- input { 97 } output { 2 }
-- input { 3 } output { 3 }
-- input { 50 } output { 0 }
entry lits (x: i32) = match x case -1 -> 1i32 case 'a' -> 2 case 0x3 -> 3 case _ -> 0

-- ==
-- entry: bools
-- input { true false } output { 2 }
entry bools (a: bool) (b: bool) : i32 = match (a, b) case (true, true) -> 1 case (true, false) -> 2 case (false, _) -> 3

-- ==
-- entry: sections
-- input { [1,2,3] } output { [2,3,4] [0,1,2] [9,8,7] [2,4,6] [10,5,3]}
entry sections (xs: []i32) = (map (+1) xs, map (\x -> x - 1) xs, map (10-) xs, map (2*) xs, map (10/) xs)

-- ==
-- entry: secproj
-- input {} output { [1,3] [2.0,4.0] [2,4] [3,6] 5}
entry secproj =
  let ps = [(1, 2.0), (3, 4.0)]
  let rs = [{a = {b = 2i32}}, {a = {b = 4}}]
  let m = [[1,2,3],[4,5,6]]
  in (map (.0) ps : []i32, map (.1) ps, map (.a.b) rs, map (.[2]) m : []i32, (.[1,1]) m)

-- ==
-- entry: backt
-- input { 10 3 } output { 7 13 }
entry backt (x: i32) (y: i32) = let sub a b = a - b in (x `sub` y, (`i32.max` 13) x)

-- ==
-- entry: ifs
-- input { 3 } output { 6 }
entry ifs (x: i32) = x * if x > 2 then 2 else 3
