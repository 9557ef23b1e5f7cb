-- Sizes that are computed of parameters, given literals and constants of the program.

def of_i32 (x: i32) = iota (i64.i32 x)
def of_u8 (x: u8) = replicate (i64.u8 x) 1i64
def of_f64 (x: f64) = iota (i64.f64 (x * 2))
def half (n: i64) = iota (n / 2)
def shifted (n: i64) = iota (1 << n)
def half_of (x: i32) : i64 = i64.i32 (x / 2)
def stated (x: i32) : [half_of x]i64 = iota (half_of x)
def of_record (r: {n: i64, m: i32}) = iota (r.n + i64.i32 r.m)

def k = 3i64
def five = 5i32
def r = {n = 2i64, m = 1i32}
module m = { def k = 4i64 }

-- ==
-- entry: literals
-- input { } output { [3i64, 2i64, 5i64, 97i64, 1i64, 1i64] }

entry literals = [length (of_i32 3), length (of_u8 2), length (of_f64 2.5), length (of_u8 'a'), length (half 3), length (stated 3)]

-- ==
-- entry: constants
-- input { } output { [1i64, 8i64, 5i64, 2i64, 3i64, 2i64, 16i64] }

entry constants =
  [length (half k), length (shifted k), length (of_i32 five), length (stated five), length (of_record r), length (half m.k), length (shifted m.k)]

-- ==
-- entry: used_on
-- input { } output { [0i64, 2i64, 4i64] }

entry used_on = map2 (+) (of_i32 3) (of_i32 3)

-- ==
-- entry: slope
-- input { } output { 3.0 }

entry slope = vjp (\x -> f64.sum (map (const x) (of_i32 3))) 1.0 1
