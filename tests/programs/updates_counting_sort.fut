-- Accumulating into several arrays in one loop, in place.

-- ==
-- entry: a
-- input { [2i64,0,1,2] } output { [1i64,1,2] [0i64,1,2,4] [1i64,2,0] }
entry a [n] (keys: [n]i64) =
  let counts = loop c = replicate 3 0i64 for k in keys do c with [k] = c[k] + 1
  let starts = [0] ++ scan (+) 0 counts
  let (pos, order) = loop (pos, order) = (copy starts[:3], replicate n (-1i64)) for i < n do
    let k = keys[i]
    let order[pos[k]] = i
    let pos[k] = pos[k] + 1
    in (pos, order)
  in (counts, starts, map (\k -> order[starts[k]]) (iota 3) with [2] = if pos[0] == 1 then 0 else 9)

-- ==
-- entry: b
-- input { 20i64 } output { [2i64,3,5,7,11,13,17,19] }
entry b (n: i64) =
  let sieve = loop s = replicate n true with [0] = false with [1] = false for i in 2..<n do
    if s[i] then loop s for j in i*i..i*i+i..<i64.max (i*i) n do s with [j] = false else s
  in filter (\i -> sieve[i]) (iota n)
