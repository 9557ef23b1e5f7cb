-- Modules applied to modules, opened and renamed.

module type S = { type t val zero : t val add : t -> t -> t val from : i32 -> t }
module S32 : (S with t = i32) = { type t = i32 def zero = 0i32 def add = (i32.+) def from (x: i32) = x }
module Lift (M: S) : (S with t = (M.t, M.t)) = { type t = (M.t, M.t) def zero = (M.zero, M.zero) def add (a: t) (b: t) : t = (M.add a.0 b.0, M.add a.1 b.1) def from x = (M.from x, M.from x) }
module L = Lift (Lift S32)

-- ==
-- entry: a
-- input { 3 } output { 6 6 6 6 }
entry a (x: i32) = let ((p, q), (r, s)) = L.add (L.from x) (L.from x) in (p, q, r, s)
module Sum (M: S) = { def sum = foldl M.add M.zero  def rsum [n] (xs: [n]M.t) = reduce M.add M.zero xs }
module LS = Sum L

-- ==
-- entry: b
-- input { [1,2] } output { 3 }
entry b (xs: []i32) = (LS.rsum (map L.from xs)).0.1
module type Show = { type t val show : t -> []u8 }
module B : Show with t = bool = { type t = bool def show (x: t) = if x then "true" else "false" }

-- ==
-- entry: c
-- input { true } output { "true" }
-- input { false } output { "false" }
entry c (x: bool) = B.show x
module Fix (P: { val eps : f64 }) = { def close a b = f64.abs (a - b) < P.eps }
module fixa = Fix { def eps = 0.1f64 }
module fixb = Fix { def eps = 0.01 }

-- ==
-- entry: d
-- input { 1.0 1.05 } output { true false }
entry d (x: f64) (y: f64) = (fixa.close x y, fixb.close x y)
module N = { module A = { def x = 1i32 } module B = { open A def y = x + 1 } }
open N

-- ==
-- entry: e
-- input {} output { 1 2 1 }
entry e = (A.x, B.y, N.B.x)
module type Ring = { include S val neg : t -> t }
module R : Ring with t = i64 = { type t = i64 def zero = 0i64 def add (x: t) y = x + y def neg (x: t) = -x def from = i64.i32 }

-- ==
-- entry: f
-- input { 3 } output { -3i64 }
entry f (x: i32) = R.neg (R.from x)
module Arr (E: {type t}) = { type arr [n] = [n]E.t def first [n] (x: arr [n]) : E.t = x[0] }
module AI = Arr i32

-- ==
-- entry: g
-- input { [5,6] } output { 5 }
entry g (xs: []i32) = AI.first xs
module type Fn = { val f : i32 -> i32 }
module compose (F: Fn) (G: Fn) : Fn = { def f x = F.f (G.f x) }
module inc : Fn = { def f (x: i32) = x + 1 }
module c3 = compose inc (compose inc inc)

-- ==
-- entry: h
-- input { 1 } output { 4 }
entry h = c3.f
local module hidden = { def v = 9i32 }

-- ==
-- entry: i
-- input {} output { 9 }
entry i = hidden.v
module P = \(X: Fn) : Fn -> { def f x = X.f x * 2 }
module PI = P inc

-- ==
-- entry: j
-- input { 1 } output { 4 }
entry j = PI.f
module G = { def f 'a 'b (x: a) (y: b) : (b, a) = (y, x) def g [n] 't (xs: [n]t) = xs[n-1] }

-- ==
-- entry: k
-- input { [1,2] } output { true 2 }
entry k (xs: []i32) = G.f (G.g xs) true
module ii = i64

-- ==
-- entry: l
-- input { 3i64 } output { 9i64 }
entry l (x: ii.t) = x ii.* x
