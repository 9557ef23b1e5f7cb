-- Radix.

def radix_step [n] (xs: [n]u32) (b: i32) : [n]u32 =
  let bits = map (\x -> i64.i32 (u32.get_bit b x)) xs
  let neg = map (1 -) bits
  let offs = i64.sum neg
  let idxs0 = map2 (*) neg (scan (+) 0 neg)
  let idxs1 = map2 (*) bits (map (+ offs) (scan (+) 0 bits))
  let idxs = map2 (+) idxs0 idxs1 |> map (\x -> x - 1)
  in scatter (copy xs) idxs xs
def radix_sort [n] (xs: [n]u32) : [n]u32 = loop xs for i < 32 do radix_step xs i

-- ==
-- entry: main
-- input { [5u32, 3, 4294967295, 0, 2] } output { [0u32, 2, 3, 5, 4294967295] }
entry main = radix_sort
