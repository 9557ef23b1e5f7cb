-- Abstract pairs, functions as types.

module type pair = { type pair 'a 'b val mk 'a 'b : a -> b -> pair a b val fst 'a 'b : pair a b -> a val snd 'a 'b : pair a b -> b }
module tup : pair = { type pair 'a 'b = (a, b) def mk a b = (a, b) def fst (a, _) = a def snd (_, b) = b }
module rec' : pair = { type pair 'a 'b = {l: a, r: b} def mk 'a 'b (l: a) (r: b) : pair a b = {l, r} def fst 'a 'b (p: pair a b) = p.l def snd 'a 'b (p: pair a b) = p.r }
module fun (P: pair) = { def swap p = P.mk (P.snd p) (P.fst p) def arr = map swap }
module ft = fun tup
module fr = fun rec'

-- ==
-- entry: a
-- input {} output { 2i32 true [2i32,4] }
entry a = let p = ft.swap (tup.mk true 2i32) let q = fr.arr (map2 rec'.mk [1i32,3] [2i32,4]) in (tup.fst p, tup.snd p, map rec'.fst q)
type^ parser 's 'a = s -> (s, a)
def ret 's 'a (x: a) : parser s a = \s -> (s, x)
def bind 's 'a 'b (p: parser s a) (f: a -> parser s b) : parser s b = \s -> let (s', x) = p s in f x s'
def get : parser i32 i32 = \s -> (s, s)
def put x : parser i32 () = \_ -> (x, ())

-- ==
-- entry: b
-- input {} output { 6i32 5i32 }
entry b = bind get (\x -> bind (put (x + 1)) (\_ -> ret x)) 5
