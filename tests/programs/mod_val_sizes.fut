-- Value specs with sizes, through a parametric module.

module type SORT = { type t val sort [n] : [n]t -> [n]t val cat [n] [m] : [n]t -> [m]t -> [n+m]t val pack [n] : [n]t -> ?[k].[k]t }
module mk (K: {type t val <= : t -> t -> bool}) : SORT with t = K.t = {
  type t = K.t
  def sort [n] (xs: [n]t) : [n]t =
    loop xs = copy xs for i < n do
      loop xs for j < n - 1 do
        if xs[j] K.<= xs[j+1] then xs else
          let a = copy xs[j] let b = copy xs[j+1] in xs with [j] = b with [j+1] = a
  def cat [n][m] (a: [n]t) (b: [m]t) : [n+m]t = a ++ b
  def pack [n] (xs: [n]t) : []t = filter (\x -> x K.<= xs[0]) xs
}
module s = mk i32
module sd = mk {type t = f64 def (<=) (a: f64) (b: f64) = b f64.<= a}

-- ==
-- entry: a
-- input { [3i32,1,2] } output { [1i32,2,3] [3i32,1,2,3,1,2] [3i32,1,2] }
entry a (xs: []i32) = (s.sort xs, s.cat xs xs, s.pack xs)

-- ==
-- entry: b
-- input { [3.0,1,2] } output { [3f64,2,1] }
entry b (xs: []f64) = sd.sort xs
