-- Which function it is turns out when the program runs: results of different sizes have a size of their own.

def pick (b: bool) = if b then \(_: i64) -> iota 4 else \_ -> iota 3

-- ==
-- entry: by_if
-- input { false } output { 3i64 3i64 }
-- input { true } output { 4i64 6i64 }

entry by_if (b: bool) = let xs = pick b 1 in (length xs, i64.sum xs)

-- ==
-- entry: tied_to_the_parameter
-- input { true 3i64 } output { [0i64, 2i64, 4i64] }
-- input { false 3i64 } output { [0i64, 2i64, 4i64, 6i64] }

entry tied_to_the_parameter (b: bool) (n: i64) =
  let f = if b then iota else \x -> iota (x + 1)
  let ys = f n
  in map2 (+) ys (iota (length ys))

-- ==
-- entry: of_partial_applications
-- input { true [5i64, 6i64, 7i64] } output { [5i64, 6i64] }
-- input { false [5i64, 6i64, 7i64] } output { [5i64, 6i64, 7i64, 5i64, 6i64, 7i64] }

entry of_partial_applications (b: bool) (xs: []i64) = (if b then take 2 else \ys -> ys ++ ys) xs

-- ==
-- entry: of_hidden_size
-- input { true } output { 3i64 }
-- input { false } output { 2i64 }

entry of_hidden_size (b: bool) = length ((if b then id else filter (> 0)) (iota 3))

-- ==
-- entry: by_match
-- input { 0i64 2i64 } output { [0i64, 1i64] }
-- input { 1i64 2i64 } output { [7i64, 7i64, 7i64] }
-- input { 2i64 2i64 } output { [2i64] }

entry by_match (k: i64) (n: i64) =
  let f = match k case 0 -> iota case 1 -> (\n -> replicate (n + 1) 7) case _ -> (\n -> [n])
  in f n

-- ==
-- entry: in_records
-- input { true } output { 4i64 }
-- input { false } output { 3i64 }

entry in_records (b: bool) = let r = if b then {f = \(_: i64) -> iota 4, x = 1i64} else {f = \_ -> iota 3, x = 2} in length (r.f r.x)

-- ==
-- entry: by_loop
-- input { 0i64 } output { [0i64] }
-- input { 2i64 } output { [0i64, 8i64, 9i64] }

entry by_loop (k: i64) = (loop g = (\(n: i64) -> iota n) for i < k do \n -> g n ++ [8 + i]) 1

-- Where all have the size of the argument, so has what is chosen.

-- ==
-- entry: of_one_size
-- input { true [[1.0, 2.0], [3.0, 4.0]] } output { [[2.0, 3.0], [4.0, 5.0]] }
-- input { false [[1.0, 2.0], [3.0, 4.0]] } output { [[2.0, 4.0], [6.0, 8.0]] }

entry of_one_size [n][m] (b: bool) (xss: [n][m]f64) : [n][m]f64 = map (if b then map (+ 1) else map (* 2)) xss

-- ==
-- entry: gradient
-- input { true } output { 5.0 }
-- input { false } output { 6.0 }

entry gradient (b: bool) =
  let f = if b then (\(n: i64) (x: f64) -> replicate n x) else (\n x -> replicate (n + 1) x)
  in vjp (\x -> f64.sum (f 5 x)) 1.0 1

-- What the spec of a function states of several arrays holds for any function that is given.

def halves : i64 -> ?[k].([k]i64, [k]i64) = \n -> (iota (n / 2), replicate (n / 2) n)

-- ==
-- entry: of_one_hidden_size
-- input { 5i64 } output { [5i64, 6i64] }

entry of_one_hidden_size (n: i64) = let (a, b) = halves n in map2 (+) a b
