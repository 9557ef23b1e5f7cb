-- The functions of the prelude.

-- ==
-- entry: basics
-- input { [3,1,2] } output { 3i64 false 3 2 [1,2] [3,1] [3,1] [2] [2,1,3] [1,2,3] }
entry basics (xs: [3]i32) = (length xs, null xs, head xs, last xs, tail xs, init xs, take 2 xs, drop 2 xs, reverse xs, rotate 1 xs)

-- ==
-- entry: splits
-- input { [1,2,3,4,5] } output { [1,2] [3,4,5] }
entry splits (xs: [5]i32) = split (xs :> [2+3]i32)

-- ==
-- entry: conc
-- input { [1,2] [3] } output { [1,2,3] [1,2,3] }
entry conc (a: []i32) (b: []i32) = (a ++ b, concat a b)

-- ==
-- entry: gens
-- input { 3i64 } output { [0i64,1,2] [0i64,1,2] [7,7,7] [0i64,1,4] [[0i64,1],[1i64,2],[2i64,3]] }
entry gens (n: i64) = (iota n, indices (replicate n 0i32), replicate n 7, tabulate n (\i -> i * i), tabulate_2d n 2 (+))

-- ==
-- entry: t3d
-- input {} output { [[[0i64,1],[1i64,2]],[[1i64,2],[2i64,3]]] }
entry t3d = tabulate_3d 2 2 2 (\i j k -> i + j + k)

-- ==
-- entry: flats
-- input { [[1,2],[3,4]] } output { [1,2,3,4] [[1,3],[2,4]] [[1,2],[3,4]] }
entry flats (a: [2][2]i32) = (flatten a, transpose a, unflatten (flatten a) :> [2][2]i32)

-- ==
-- entry: flat3
-- input { [[[1,2],[3,4]],[[5,6],[7,8]]] } output { [1,2,3,4,5,6,7,8] [[[1,2],[3,4]],[[5,6],[7,8]]] }
entry flat3 (a: [2][2][2]i32) = (flatten_3d a, unflatten_3d (flatten_3d a))

-- ==
-- entry: folds
-- input { [1,2,3] } output { -6 2 true false }
entry folds (xs: []i32) = (foldl (-) 0 xs, foldr (-) 0 xs, and (map (>0) xs), or (map (>3) xs))

-- ==
-- entry: zips
-- input { [1,2] [3,4] [5,6] } output { [4,6] [9,12] [1,2] [5,6] [6,8] }
entry zips [n] (a: [n]i32) (b: [n]i32) (c: [n]i32) =
  let (x, _, z) = unzip3 (zip3 a b c)
  let (p, q) = unzip (zip a c)
  in (map2 (+) a b, map3 (\x y z -> x + y + z) a b c, x, z, map (\(u, v) -> u + v) (zip p q))

-- ==
-- entry: zip5s
-- input { [1,2] } output { [5,10] [1,2] }
entry zip5s [n] (a: [n]i32) = (map (\(a,b,c,d,e) -> a+b+c+d+e) (zip5 a a a a a), (unzip5 (zip5 a a a a a)).4)

-- ==
-- entry: maps
-- input { [1,2] } output { [4,8] [5,10] }
entry maps (a: []i32) = (map4 (\a b c d -> a+b+c+d) a a a a, map5 (\a b c d e -> a+b+c+d+e) a a a a a)

-- ==
-- entry: reds
-- input { [1,2,3] } output { 6 6 [1,3,6] [0,1,3] true true }
entry reds (xs: []i32) = (reduce (+) 0 xs, reduce_comm (+) 0 xs, scan (+) 0 xs, exscan (+) 0 xs, all (>0) xs, any (==2) xs)

-- ==
-- entry: hists
-- input { [0i64,1,0,5,-1] [1,2,3,4,5] } output { [4,2,0] [14,12,10] }
entry hists [n] (is: [n]i64) (vs: [n]i32) = (hist (+) 0 3 is vs, reduce_by_index [10,10,10] (+) 0 is vs)

-- ==
-- entry: hist2
-- input {} output { [[5,0],[0,7]] }
entry hist2 = reduce_by_index_2d (replicate 2 (replicate 2 0i32)) (+) 0 [(0,0),(1,1),(0,0),(2,2)] [2,7,3,9]

-- ==
-- entry: scat
-- input { [0i64,2,7] [10,20,30] } output { [10,0,20] [10,9,20] }
entry scat [n] (is: [n]i64) (vs: [n]i32) = (scatter (replicate 3 0) is vs, spread 3 9 is vs)

-- ==
-- entry: scat2
-- input {} output { [[1,0],[0,2]] }
entry scat2 = scatter_2d (replicate 2 (replicate 2 0i32)) [(0,0),(1,1),(-1,0)] [1,2,3]

-- ==
-- entry: scat3
-- input {} output { [[[1],[0]],[[0],[2]]] }
entry scat3 = scatter_3d (replicate 2 (replicate 2 (replicate 1 0i32))) [(0,0,0),(1,1,0)] [1,2]

-- ==
-- entry: filt
-- input { [1,2,3,4] } output { [2,4] [2,4] [1,3] }
entry filt (xs: []i32) = let (a, b) = partition (\x -> x % 2 == 0) xs in (filter (\x -> x % 2 == 0) xs, a, b)

-- ==
-- entry: part2
-- input { [1,2,3,4,5,6] } output { [2,4,6] [3] [1,5] }
entry part2 (xs: []i32) = partition2 (\x -> x % 2 == 0) (\x -> x % 3 == 0) xs

-- ==
-- entry: fns
-- input { 3 } output { 4 8 7 5 3 1 8 16 }
entry fns (x: i32) = (x |> (+1), (+1) <-< (+4) <| x, ((+1) >-> (+3)) x, uncurry (+) (2, x), const x 5, curry (\(a, b) -> b - a) 2 x, iterate 3 (+1) 5, iterate_until (>10) (*2) x + 4)

-- ==
-- entry: fns2
-- input { 3 } output { 12 2 3.0f32 -1 true }
entry fns2 (x: i32) = (iterate_while (<10) (*2) x, flip (-) 1 x, r32 x, t32 (-1.5), not false)

-- ==
-- entry: sz
-- input { [1,2,3] } output { [1,2,3] [0,0,0] [5,5] }
-- input { [1,2] } error: .
entry sz (xs: []i32) = (sized 3 xs, rep 0 : [3]i32, copy [5,5])

-- ==
-- entry: asserts
-- input { 3 } output { 3 }
-- input { -3 } error: .
entry asserts (x: i32) = assert (x > 0) x

-- ==
-- entry: idx
-- input { [1,2] 1i64 } output { 2 }
-- input { [1,2] 2i64 } error: bounds
-- input { [1,2] -1i64 } error: bounds
entry idx (xs: []i32) (i: i64) = xs[i]

-- ==
-- entry: emp
-- input {} output { 0i64 empty([0]i32) empty([0][3]i32) }
entry emp = (length ([] : [0]i32), [] : [0]i32, replicate 0 [1,2,3])

-- ==
-- entry: bools
-- input { true } output { false true true }
entry bools (b: bool) = (b && false, b || (1/0 == 1i32), !false)

-- ==
-- entry: eqs
-- input {} output { true false true true }
entry eqs = ((1,2) == (1,2i32), [1,2] == [1,3i32], {a=1i32} == {a=1}, "abc" == "abc")
