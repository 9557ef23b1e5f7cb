def by_key [n] (xs: [n]f64) : f64 =
  let keyed = zip xs (map (\x -> u8.f64 (10 * x)) xs)
  in f64.sum (map (\(x, k) -> x * f64.u8 k) keyed)

-- No such path: the index is what it is.
def weighted [n] (xs: [n]f64) : f64 =
  f64.sum (map (\(x, i) -> x * f64.i64 i) (zip xs (iota n)))

entry main [n] (xs: [n]f64) = (vjp by_key xs 1, vjp weighted xs 1)
