-- An array that grows in a loop, differentiated once for two cotangents and twice more: 1 + px + (px)^2 + (px)^3.
-- The derivative by x at 1 is p + 2 p^2 + 3 p^3, its first derivative by p is 1 + 4p + 9p^2, its second is 4 + 18p.
-- ==
-- entry: derivatives
-- input { 0.5 }
-- output { 1.375 5.25 13.0 13.0 }
-- input { -2.0 }
-- output { -18.0 29.0 -32.0 -32.0 }

def powers (p: f64) (x: f64): f64 =
  f64.sum (loop xs = [1.0] for _i < 3 do xs ++ [p * x * last xs])

def slope (p: f64): f64 = head (mjp (powers p) 1.0 (replicate 2 1.0))

entry derivatives (p: f64) =
  ( slope p
  , vjp slope p 1
  , vjp (\p -> vjp slope p 1) p 1
  , jvp (\p -> vjp slope p 1) p 1
  )
