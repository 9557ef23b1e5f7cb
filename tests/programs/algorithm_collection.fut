-- Bigger programs.

def mandel (c: (f64, f64)) (limit: i32) : i32 =
  let mul (a: f64, b: f64) (c: f64, d: f64) = (a*c - b*d, a*d + b*c)
  let add (a: f64, b: f64) (c: f64, d: f64) = (a + c, b + d)
  let norm (a: f64, b: f64) = a*a + b*b
  in (loop (z, n) = ((0.0, 0.0), 0) while n < limit && norm z <= 4.0 do (add (mul z z) c, n + 1)).1

-- ==
-- entry: m
-- input { 0.0 0.0 } output { 50 }
-- input { 2.0 2.0 } output { 1 }
entry m (x: f64) (y: f64) = mandel (x, y) 50
def sieve (n: i64) : []i64 =
  let flags = loop flags = replicate n true for i in 2..<n do
    if flags[i] then scatter flags (map (\j -> (j + 2) * i) (iota (n / i))) (replicate (n / i) false) else flags
  in filter (\i -> i >= 2 && flags[i]) (iota n)

-- ==
-- entry: primes
-- input { 20i64 } output { [2i64,3,5,7,11,13,17,19] }
entry primes = sieve
def segscan [n] 't (op: t -> t -> t) (ne: t) (arr: [n](t, bool)) : [n]t =
  (unzip (scan (\(x1, f1) (x2, f2) -> (if f2 then x2 else op x1 x2, f1 || f2)) (ne, false) arr)).0

-- ==
-- entry: ss
-- input { [1,2,3,4] [true,false,true,false] } output { [1,3,3,7] }
entry ss [n] (xs: [n]i32) (fs: [n]bool) = segscan (+) 0 (zip xs fs)
def radix_step [n] (xs: [n]u32) (b: i32) : [n]u32 =
  let bits = map (\x -> u32.get_bit b x) xs
  let inv = map (1 -) bits
  let ps0 = scan (+) 0 inv
  let off = reduce (+) 0 inv
  let ps1 = map (+ off) (scan (+) 0 bits)
  let ps = map3 (\b p0 p1 -> if b == 0 then p0 - 1 else p1 - 1) bits ps0 ps1
  in scatter (copy xs) (map i64.i32 ps) xs

-- ==
-- entry: radix
-- input { [5u32,3,8,1] } output { [1u32,3,5,8] }
entry radix [n] (xs: [n]u32) = loop xs for i < 32 do radix_step xs i
def game [n][m] (w: [n][m]bool) : [n][m]bool =
  let nb i j = i32.sum (flatten (tabulate_2d 3 3 (\a b -> if a == 1 && b == 1 then 0 else i32.bool w[(i + a - 1) % n, (j + b - 1) % m])))
  in tabulate_2d n m (\i j -> let k = nb i j in k == 3 || (k == 2 && w[i, j]))

-- ==
-- entry: life
-- input { [[false,true,false,false],[false,true,false,false],[false,true,false,false],[false,false,false,false]] }
-- output { [[false,false,false,false],[true,true,true,false],[false,false,false,false],[false,false,false,false]] }
entry life (w: [][]bool) = game w
def binsearch [n] (xs: [n]i32) (x: i32) : i64 =
  (loop (l, r) = (0, n - 1) while l < r do let t = l + (r - l) / 2 in if x <= xs[t] then (l, t) else (t + 1, r)).0

-- ==
-- entry: bs
-- input { [1,3,5,7,9] 7 } output { 3i64 }
entry bs (xs: []i32) (x: i32) = binsearch xs x
def gauss [n] (a: *[n][n]f64) : *[n][n]f64 =
  loop a for k < n - 1 do
    loop a for i in k+1..<n do
      let f = a[i,k] / a[k,k]
      in a with [i] = map2 (\x y -> x - f * y) a[i] a[k]

-- ==
-- entry: ga
-- input { [[2.0,1.0],[4.0,5.0]] } output { [[2.0,1.0],[0.0,3.0]] }
entry ga [n] (a: *[n][n]f64) = gauss a
def wordcount [n] (s: [n]u8) : i64 =
  let isw (c: u8) = c != ' ' && c != '\n'
  let starts = map2 (\i c -> isw c && (i == 0 || !(isw s[i-1]))) (iota n) s
  in i64.sum (map i64.bool starts)

-- ==
-- entry: wc
-- input { "hello  big world\n" } output { 3i64 }
entry wc (s: []u8) = wordcount s
def collatz (n: i64) : i32 = (loop (n, c) = (n, 0) while n != 1 do (if n % 2 == 0 then n / 2 else 3 * n + 1, c + 1)).1

-- ==
-- entry: co
-- input { 6i64 } output { 8 }
entry co = collatz
def nqueens (n: i32) : i32 =
  let safe (qs: []i32) (c: i32) = let k = i32.i64 (length qs) in and (map2 (\q i -> q != c && i32.abs (q - c) != k - i) qs (map i32.i64 (indices qs)))
  let step [m] (boards: [m][]i32) (_: i32) = i32.i64 (length boards)
  in step [[1]] n + i32.bool (safe [0] 2)

-- ==
-- entry: nq
-- input { 4 } output { 2 }
entry nq = nqueens
module type rng = { type state val init : i32 -> state val next : state -> (state, i32) }
module lcg : rng = { type state = u32 def init (x: i32) = u32.i32 x def next (s: state) = let s' = s * 1103515245 + 12345 in (s', i32.u32 (s' >> 16)) }

-- ==
-- entry: rnd
-- input { 1 } output { [16838, 5758] }
entry rnd (seed: i32) = let s = lcg.init seed let (s, a) = lcg.next s let (_, b) = lcg.next s in [a, b & 0x7fff]
def dotp = \xs ys -> f64.sum (map2 (*) xs ys)

-- ==
-- entry: dp
-- input { [1.0,2.0] [3.0,4.0] } output { 11.0 }
entry dp (xs: []f64) (ys: []f64) = dotp xs ys
def fact (n: i64) : i64 = if n <= 1 then 1 else n * fact (n - 1)

-- ==
-- entry: fc
-- input { 10i64 } output { 3628800i64 }
entry fc = fact
def gcd (a: i32) (b: i32) : i32 = if b == 0 then a else gcd b (a % b)

-- ==
-- entry: gc
-- input { 12 18 } output { 6 }
entry gc = gcd
def pow_mod (b: u64) (e: u64) (m: u64) : u64 = (loop (r, b, e) = (1, b % m, e) while e > 0 do (if e & 1 == 1 then r * b % m else r, b * b % m, e >> 1)).0

-- ==
-- entry: pm
-- input { 3u64 200u64 13u64 } output { 9u64 }
entry pm = pow_mod
