-- Matrix mod.

module type semiring = { type t val zero : t val one : t val add : t -> t -> t val mul : t -> t -> t }
module matrix (S: semiring) = {
  type mat [n][m] = [n][m]S.t
  def id n : mat [n][n] = tabulate_2d n n (\i j -> if i == j then S.one else S.zero)
  def mul [n][m][p] (a: mat [n][m]) (b: mat [m][p]) : mat [n][p] =
    map (\ar -> map (\bc -> reduce S.add S.zero (map2 S.mul ar bc)) (transpose b)) a
  def pow [n] (a: mat [n][n]) (k: i32) : mat [n][n] =
    (loop (r, b, k) = (id n, a, k) while k > 0 do
      (if k % 2 == 1 then mul r b else r, mul b b, k / 2)).0
}
module nat = { type t = i64 def zero = 0i64 def one = 1i64 def add = (i64.+) def mul = (i64.*) }
module tropical : semiring with t = f64 = { type t = f64 def zero = f64.inf def one = 0f64 def add = f64.min def mul = (f64.+) }
module mn = matrix nat
module mt = matrix tropical

-- ==
-- entry: fib
-- input { 10i32 } output { 55i64 }
entry fib k = (mn.pow [[1,1],[1,0]] k)[0,1]

-- ==
-- entry: sp
-- input { [[0.0,1.0,10.0],[f64.inf,0.0,2.0],[f64.inf,f64.inf,0.0]] } output { 3.0 }
entry sp [n] (a: [n][n]f64) = (mt.pow a 3)[0,2]
