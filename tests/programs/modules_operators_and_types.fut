-- Modules, own operators, type abbreviations.

module type num = { type t val + : t -> t -> t val - : t -> t -> t val of_i32 : i32 -> t val (*) : t -> t -> t }
module n_f64 : num with t = f64 = { type t = f64 def (+) (x: t) (y: t) : t = x f64.+ y def (-) (x: t) y : t = x f64.- y def of_i32 = f64.i32 def (*) (x: t) (y: t) : t = x f64.* y }
module poly (N: num) = { open N
  def square x = x * x
  def double x = x + x
  local def hidden = of_i32 3
  def three = hidden }
module pf = poly n_f64

-- ==
-- entry: a
-- input { 3.0 } output { 9.0 6.0 3.0 }
entry a (x: f64) = (pf.square x, pf.double x, pf.three)
module type has_t = { type t }
module type ext = { include has_t val x : t }
module e : ext with t = i32 = { type t = i32 def x = 7i32 }

-- ==
-- entry: b
-- input {} output { 8 }
entry b = e.x + 1
module f2 (A: {val x : i32}) (B: {val y : i32}) = { def z = A.x + B.y }
module g2 = f2 {def x = 1i32} {def y = 2i32}

-- ==
-- entry: c
-- input {} output { 3 }
entry c = g2.z
module outer = { module inner = { def v = 42i32 type t = i64 } open inner def w = v + 1 }

-- ==
-- entry: d
-- input { 1i64 } output { 42 43 1i64 }
entry d (x: outer.inner.t) = (outer.inner.v, outer.w, x)
module lam = \(X: {val x: i32}) -> { def y = X.x * 2 }
module lamm = lam {def x = 21i32}

-- ==
-- entry: e1
-- input {} output { 42 }
entry e1 = lamm.y
module type F = (X: {type t val x: t}) -> {type u val y: u}
def (+^) (x: i32) (y: i32) = x * 10 + y
def x <+> y = x i32.+ y

-- ==
-- entry: ops
-- input {} output { 123 6 7 }
entry ops = (1 +^ 2 +^ 3, 1 <+> 2 <+> 3, let (+++) a b = a + b + 1i32 in 2 +++ 4)

-- ==
-- entry: opens
-- input { 2.0 } output { 7.0 }
entry opens (x: f64) = f64.(x * x + 3)
module type with_size = { val n : i64 val xs : [n]i32 }
module ws : with_size = { def n = 3i64 def xs = replicate n 2i32 }

-- ==
-- entry: wsz
-- input {} output { 6 }
entry wsz = i32.sum ws.xs
module m_abs : { type t val mk : i32 -> t val get : t -> i32 } = { type t = (i32, i32) def mk x = (x, x) def get ((a, b): t) = a + b }

-- ==
-- entry: abs
-- input { 4 } output { 8 }
entry abs (x: i32) = m_abs.get (m_abs.mk x)

-- ==
-- entry: absarr
-- input { [1,2] } output { [2,4] }
entry absarr (xs: []i32) = map m_abs.get (map m_abs.mk xs)
type^ fn = i32 -> i32
def compose (f: fn) (g: fn) : fn = \x -> f (g x)

-- ==
-- entry: comp
-- input { 5 } output { 11 }
entry comp = compose (+1) (*2)
type arr [n] 'a = [n]a
type mat [n][m] = arr [n] (arr [m] i32)

-- ==
-- entry: mats
-- input { [[1,2],[3,4],[5,6]] } output { 3i64 2i64 21 }
entry mats [n][m] (x: mat [n][m]) = (n, m, i32.sum (flatten x))
local def secret = 1i32
import "literals_and_numbers"

-- ==
-- entry: imp
-- input {} output { 255 }
entry imp = lits.0
