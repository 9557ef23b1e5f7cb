-- An array of sums in which a constructor is overwritten by another: the old value's cotangent has the old constructor.
-- ==
-- entry: reverse forward
-- input { 3.0 } output { 1.0 }

type shape = #dot | #box f64 f64

def total [n] (xs: [n]shape): f64 =
  f64.sum (map (\s -> match s case #dot -> 0 case #box a b -> a * b) xs)

def f (x: f64): f64 =
  let xs = replicate 2 (#box 1 x : shape)
  let xs = xs with [0] = #dot
  in total xs

entry reverse (x: f64) = vjp f x 1
entry forward (x: f64) = jvp f x 1
