def count (x: f64) : f64 = 1 + count (x + 1)
module m = { def map 'a 'b [n] (f: a -> b) (xs: [n]a) : [n]b = map f xs }
def rec f (x: f64) : f64 = if x > 0 then g x else f 1 and g (x: f64) : f64 = f (x - 1)
def rec ends (x: f64) : f64 = if x > 0 then needs x else 1 and needs (x: f64) : f64 = ends (x - 1)
def may_end (x: f64) : bool = x > 0 && may_end (x - 1)
entry main (x: f64) = if may_end x then ends x else count x
