-- Sizes captured by local functions.

-- ==
-- entry: a
-- input { [1i32,2,3] } output { [6i32,6,6] [3i64,3,3] }
entry a [n] (xs: [n]i32) =
  let f (ys: [n]i32) : [n]i32 = map (const (i32.sum ys)) xs
  let g 'a (ys: [n]a) : [n]i64 = map (\_ -> n) ys
  in (f xs, g (zip xs xs))

-- ==
-- entry: b
-- input { 3i64 } output { [[0i64,0,0],[0i64,1,2],[0i64,2,4]] }
entry b (n: i64) =
  let row (i: i64) : [n]i64 = map (* i) (iota n)
  in map row (iota n)

-- ==
-- entry: c
-- input { 4i64 } output { [0i64,1,2,3,4] }
entry c n = let m = n + 1 let xs : [m]i64 = iota m in xs

-- ==
-- entry: d
-- input { [1i32,2] } output { [3i32,2,1] }
entry d [n] (xs: [n]i32) = let ys = xs ++ [3] let zs : [n+1]i32 = reverse ys in zs

-- ==
-- entry: e
-- input { [[1i32,2],[3i32,4]] } output { [1i32,2,3,4] [[1i32,2],[3i32,4]] }
entry e [n][m] (xs: [n][m]i32) = let ys = flatten xs in (ys, unflatten ys :> [n][m]i32)
