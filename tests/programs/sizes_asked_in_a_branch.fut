-- A function that is differentiated in one branch asks for the size of an array that a later derivative needs, too.
-- Expected values: by hand.
-- ==
-- entry: value
-- input { 1.0 [2.0, 3.0] } output { [7.0, 0.0, 0.0] }
-- input { -1.0 [2.0, 3.0] } output { [1.0, 0.0, 0.0] }
-- input { 1.0 empty([0]f64) } output { [2.0] }

-- ==
-- entry: gradient
-- input { 1.0 [2.0, 3.0] } output { 2.0 [1.0, 1.0] }
-- input { -1.0 [2.0, 3.0] } output { 0.0 [0.0, 0.0] }

-- | Of a size that no type tells.
type~ hidden = []f64

#[noinline]
def f (x: f64) (xs: hidden): (f64, hidden) =
  let slope = if x > 0 then let (total, slope) = vjp2 (\x -> (f64.sum xs, x * x)) x (4, 1) in total.0 + slope else 1
  in (slope, jvp (\(_: [4]f64): hidden -> xs) (replicate 4 1) (replicate 4 1))

def joined (x: f64) (xs: hidden): []f64 = let (slope, ys) = f x xs in [slope] ++ ys

entry value (x: f64) (xs: []f64): []f64 = joined x xs

entry gradient [n] (x: f64) (xs: [n]f64) = vjp (\(x, xs) -> f64.sum (joined x (xs : hidden))) (x, xs) 1
