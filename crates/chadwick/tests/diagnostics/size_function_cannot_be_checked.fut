def half : (n: i64) -> [n]i64 = \n -> iota (n / 2)
def pair : i64 -> ?[k].([k]i64, [k]i64) = \n -> (iota n, iota (n * n))
def both (f: (n: i64) -> [n]i64) = length (f 2) + length (f 3)
entry main (n: i64) = length (half n) + both (\n -> iota (n * n)) + length (pair n).0
