-- Forks again and again: in values and in both passes of derivatives by dual numbers.
def rec sequential (d: i64) (x: f64): f64 =
  if d == 0 then f64.sin x else 0.5 * sequential (d - 1) (x * 0.5) + sequential (d - 1) (x + 1)
def rec forked (d: i64) (x: f64): f64 =
  if d == 0 then f64.sin x else let (a, b) = par (forked (d - 1) (x * 0.5)) (forked (d - 1) (x + 1)) in 0.5 * a + b
def shared [n] (w: [n]f64) (x: f64): f64 =
  let half (from: i64) = loop s = 0 for i < n / 2 do s + f64.sin (w[from + i] * x) * w[i]
  let (a, b) = par (half 0) (half (n / 2)) in a * b

def close (x: f64) (y: f64): bool = f64.abs (x - y) <= 1e-12 * f64.max 1 (f64.abs y)

-- ==
-- entry: values gradients arrays
-- input { 1000i64 } output { true }
entry values (rounds: i64): bool =
  loop ok = true for i < rounds do let x = 0.001 * f64.i64 i in ok && close (forked 5 x) (sequential 5 x)
entry gradients (rounds: i64): bool =
  loop ok = true for i < rounds do let x = 0.001 * f64.i64 i in ok && close (vjp (forked 5) x 1) (vjp (sequential 5) x 1)
entry arrays (rounds: i64): bool =
  let w = tabulate 16 (\i -> 0.1 * f64.i64 i)
  in loop ok = true for i < rounds do
     let x = 0.001 * f64.i64 i
     let (g, h) = (vjp (\w -> shared w x) w 1, map (\i -> jvp (\w -> shared w x) w (tabulate 16 (\j -> f64.bool (i == j)))) (iota 16))
     in ok && and (map2 close g h)
