-- Local functions at several types.

-- ==
-- entry: a
-- input {} output { 1i32 true [1i32,1] [2.0,2.0] }
entry a = let id' x = x let dup x = [x, x] let (p, q) = (id' 1i32, id' true) in (p, q, dup 1i32, dup 2.0)

-- ==
-- entry: b
-- input {} output { 3i32 3.5 }
entry b = let add 'a (plus: a -> a -> a) (x: a) (y: a) = plus x y in (add (+) 1i32 2, add (+) 1.0 2.5)

-- ==
-- entry: c
-- input { [1i32,2,3] } output { 2i64 3i64 }
entry c (xs: []i32) = let len [n] 'a (_: [n]a) = n in (len (tail xs), len (map (\x -> (x, x)) xs))

-- ==
-- entry: d
-- input {} output { 5i32 }
entry d = let go s = s.2 in go (1i32, true, 5i32)

-- ==
-- entry: e
-- input {} output { 3i32 }
entry e = let f {x, y} = x + y in f {x = 1i32, y = 2}
