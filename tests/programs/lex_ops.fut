-- Precedence of built-in and user operators.

-- ==
-- entry: a
-- input {} output { 4f64 3i32 12i32 8i32 64i32 true 4i32 }
def neg' = i32.neg
entry a = (7.0 + 9.0 |> f64.sqrt, 3 `i32.max` 4 |> i32.neg, ((+ 1) <| 5 |> (* 2)), 1 << 2 + 1, 2**3**2, 5 & 3 == 1, -2i32**2)
def (+^) (a: i32) (b: i32) = a * 10 + b
def a *^ b = a * b + 1i32
def x <-> y = (y, x)
def (x: i32) >>> (y: i32) = x - y

-- ==
-- entry: b
-- input {} output { 25i32 123i32 3i32 2i32 1i32 }
entry b = let (p, q) = 2i32 <-> 3i32 in (1 +^ 2 *^ 7, 1 +^ 2 +^ 3, p, q, 5 >>> 3 + 1)
module m = { def (+) (a: i32) (b: i32) = a i32.* b def (<|>) (x: i32) (y: i32) = x i32.- y }

-- ==
-- entry: c
-- input {} output { 12i32 12i32 1i32 12i32 5i32 }
entry c = (3 m.+ 4, m.(3 + 4), (m.<|>) 3 2, (m.+ 4) 3, 7 m.<|> 2)
