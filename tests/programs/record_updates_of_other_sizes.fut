-- An update of a record may give a field an array of another size.
-- ==
-- entry: longer
-- input { 1i64 } output { [0i64, 5i64] 1i32 }

-- ==
-- entry: tuple
-- input { 3i64 } output { [5i64, 6i64] 2i64 }

-- ==
-- entry: inner
-- input { 2i64 } output { [[1i64, 1i64, 1i64]] 2i64 }

entry longer (n: i64) =
  let a = {b = iota n, c = 1i32}
  let x = a with b = a.b ++ [5]
  in (x.b, x.c)

entry tuple (n: i64) =
  let x = (iota n, 1i32) with 0 = [5, 6]
  in (x.0, length x.0)

entry inner (n: i64) =
  let r = {p = {xss = replicate n (replicate n 0i64)}, size = n}
  let r = r with p.xss = [replicate (n + 1) 1]
  in (r.p.xss, r.size)
