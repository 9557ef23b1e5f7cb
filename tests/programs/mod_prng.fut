-- A stack of parametric modules: generator, distribution.

module type rng_engine = {
  module int : integral
  type rng
  val rng_from_seed [n] : [n]i32 -> rng
  val rand : rng -> (rng, int.t)
  val split_rng : (n: i64) -> rng -> [n]rng
}
module lcg (T: integral) (P: { val a : T.t val c : T.t val m : T.t }) : rng_engine with int.t = T.t with rng = T.t = {
  module int = T
  type rng = T.t
  def rand (x: rng) = let r = (P.a T.* x T.+ P.c) T.% P.m in (r, r)
  def rng_from_seed [n] (seed: [n]i32) = let s = loop s = 1 for i < n do (s << 3) ^ seed[i] in (rand (T.i32 s)).0
  def split_rng n (x: rng) : [n]rng = tabulate n (\i -> x T.^ T.i64 i)
}
module minstd = lcg u32 { def a = 48271u32 def c = 0u32 def m = 2147483647u32 }
module type dist = { module engine : rng_engine type distribution type num val rand : distribution -> engine.rng -> (engine.rng, num) }
module uniform_int (D: integral) (E: rng_engine) : dist with num = D.t with engine.rng = E.rng with distribution = (D.t, D.t) = {
  module engine = E
  type num = D.t
  type distribution = (num, num)
  def rand (lo, hi) (r: E.rng) = let (r, x) = E.rand r in (r, lo D.+ D.i64 (E.int.to_i64 x) D.% (hi D.- lo D.+ D.i32 1))
}
module d = uniform_int i32 minstd

-- ==
-- entry: a
-- input {} output { 48271u32 182605794u32 }
entry a = let r = 1u32 let (r, x) = minstd.rand r let (_, y) = minstd.rand r in (x, y)

-- ==
-- entry: b
-- input { 5i32 } output { true }
entry b (s: i32) =
  let rngs = minstd.split_rng 10 (minstd.rng_from_seed [s])
  let xs = map (\r -> (d.rand (1, 6) r).1) rngs
  in all (\x -> x >= 1 && x <= 6) xs
