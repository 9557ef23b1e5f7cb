-- y <- y + y² / 10 + p while y < 4, for every element; the sum of the last ones, and its gradient in starts and p.
-- ==
-- entry: primal
-- input { [2.0, 5.0] [1.0, 1.0] } output { 10.556 }

-- ==
-- entry: gradient
-- input { [2.0, 5.0] [1.0, 1.0] } output { [2.352, 1.0] [2.68, 0.0] }

def last (start: f64) (p: f64): f64 = loop y = start while y < 4 do y + 0.1 * y * y + p

entry primal [n] (starts: [n]f64) (p: [n]f64): f64 = f64.sum (map2 last starts p)

entry gradient [n] (starts: [n]f64) (p: [n]f64): ([n]f64, [n]f64) = grad (uncurry primal) (starts, p)
