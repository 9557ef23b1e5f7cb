-- Module lambdas and modules over numbers.

module type num = { type t val + : t -> t -> t val * : t -> t -> t val i32 : i32 -> t }
module dot = \(N: num) -> { def dot [n] (a: [n]N.t) (b: [n]N.t) : N.t = reduce (N.+) (N.i32 0) (map2 (N.*) a b) }
module d32 = dot i32
module df = dot f64

-- ==
-- entry: a
-- input { [1i32,2] [3i32,4] } output { 11i32 }
entry a (x: []i32) y = d32.dot x y

-- ==
-- entry: b
-- input { [1f64,2] [3f64,4] } output { 11f64 }
entry b [n] (x: [n]f64) y = df.dot x y
module cplx (R: real) = {
  type complex = {re: R.t, im: R.t}
  def mk re im : complex = {re, im}
  def (+) (a: complex) (b: complex) = mk R.(a.re + b.re) R.(a.im + b.im)
  def (*) (a: complex) (b: complex) = mk R.(a.re * b.re - a.im * b.im) R.(a.re * b.im + a.im * b.re)
  def mag2 (a: complex) = R.(a.re * a.re + a.im * a.im)
}
module c64 = cplx f64

-- ==
-- entry: mandel
-- input { 0.0 0.0 } output { 50i32 }
-- input { 2.0 2.0 } output { 1i32 }
entry mandel (x: f64) (y: f64) =
  let c = c64.mk x y
  in (loop (z, i) = (c, 0i32) while i < 50 && c64.mag2 z < 4 || i == 0 do (c64.(z * z + c), i + 1)).1
