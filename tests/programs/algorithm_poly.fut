-- Poly.

type poly [n] = [n]i32
def padd [n] (a: poly [n]) (b: poly [n]) : poly [n] = map2 (+) a b
def pmul [n][m] (a: poly [n]) (b: poly [m]) : poly [n+m-1] =
  let is = flatten (tabulate_2d n m (\i j -> i + j))
  let vs = flatten (map (\x -> map (* x) b) a)
  in reduce_by_index (replicate (n+m-1) 0) (+) 0 is vs

-- ==
-- entry: main
-- input { [1i32,1] [1i32,2,1] } output { [1i32,3,3,1] }
entry main a b = pmul a b

-- ==
-- entry: s
-- input { [1i32,1] } output { [2i32,4,2] }
entry s a = padd (pmul a a) (pmul a a)
