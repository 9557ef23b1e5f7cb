-- Sizes that are sums and products of parameters.

def conv [n][k] (xs: [n+k-1]f64) (ker: [k]f64) : [n]f64 = tabulate n (\i -> f64.sum (map2 (*) ker (xs[i:i+k] :> [k]f64)))

-- ==
-- entry: a
-- input { [1.0,2.0,3.0,4.0] [1.0,1.0] } output { [3.0,5.0,7.0] }
entry a [m][k] (xs: [m]f64) (ker: [k]f64) = conv (xs :> [(m-k+1)+k-1]f64) ker
def blocks [n][m][b] (xs: [n*b][m*b]i32) : [n][m][b][b]i32 = map (\r -> map transpose (unflatten (transpose r))) (unflatten xs)

-- ==
-- entry: b
-- input { [[1i32,2,3,4],[5i32,6,7,8]] } output { [[[[1i32,2],[5i32,6]],[[3i32,4],[7i32,8]]]] }
entry b (xs: [2][4]i32) = blocks (xs :> [1*2][2*2]i32)
def interleave [n] 'a (xs: [n]a) (ys: [n]a) : [2*n]a = flatten (transpose [xs, ys]) :> [2*n]a

-- ==
-- entry: c
-- input { [1i32,2] [3i32,4] } output { [1i32,3,2,4] }
entry c [n] (xs: [n]i32) (ys: [n]i32) = interleave xs ys
def halves [n] 'a (xs: [2*n]a) : ([n]a, [n]a) = (take n xs, drop n xs :> [n]a)
def fft_like [n] (xs: [2**n]i32) : [2**n]i32 = reverse xs

-- ==
-- entry: d
-- input { [1i32,2,3,4] } output { [1i32,2] [3i32,4] [4i32,3,2,1] }
entry d (xs: [4]i32) = let (a, b) = halves (xs :> [2*2]i32) in (a, b, reverse xs)
