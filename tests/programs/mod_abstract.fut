-- Abstract types with parameters and hidden sizes.

module type stack = { type~ stack 'a val empty 'a : stack a val push 'a : a -> stack a -> stack a val size 'a : stack a -> i64 val top 'a : stack a -> a }
module stack : stack = {
  type~ stack 'a = []a
  def empty 'a : stack a = []
  def push 'a (x: a) (s: stack a) : stack a = [x] ++ s
  def size 'a (s: stack a) = length s
  def top 'a (s: stack a) = s[0]
}

-- ==
-- entry: a
-- input {} output { 2i64 5i32 }
entry a = let s = stack.push 5i32 (stack.push 4 stack.empty) in (stack.size s, stack.top s)

-- ==
-- entry: b
-- input { 4i32 } output { 4i64 3i32 }
entry b (n: i32) = let s = loop s = stack.empty for i < n do stack.push i s in (stack.size s, stack.top s)
module type vec = { type vec [n] 'a val mk [n] 'a : [n]a -> vec [n] a val get [n] 'a : vec [n] a -> i64 -> a val map [n] 'a 'b : (a -> b) -> vec [n] a -> vec [n] b val zip [n] 'a 'b : vec [n] a -> vec [n] b -> vec [n] (a,b) val len [n] 'a : vec [n] a -> i64 }
module vec : vec = {
  type vec [n] 'a = [n]a
  def mk = id
  def get [n] 'a (v: vec [n] a) (i: i64) = v[i]
  def map = map
  def zip = zip
  def len [n] 'a (_: vec [n] a) = n
}

-- ==
-- entry: c
-- input { [1i32,2,3] } output { 4i32 1i32 3i64 }
entry c (xs: []i32) = let v = vec.mk xs let w = vec.zip (vec.map (* 2) v) v in let (p, q) = (vec.get w 1, vec.get w 0) in (p.0, q.1, vec.len w)
