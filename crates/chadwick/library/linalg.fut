-- | Dense linear algebra over any field.

-- | What the elements must have; the number modules of the prelude do.
module type field = {
  type t
  val + : t -> t -> t
  val - : t -> t -> t
  val * : t -> t -> t
  val / : t -> t -> t
  val neg : t -> t
  val < : t -> t -> bool
  val abs : t -> t
  val i64 : i64 -> t
}

module mk_linalg (T: field) = {
  type t = T.t

  local def zero: t = T.i64 0
  local def one: t = T.i64 1
  local def sum [n] (xs: [n]t): t = reduce (T.+) zero xs

  -- | The inner product of two vectors.
  def dotprod [n] (xs: [n]t) (ys: [n]t): t = sum (map2 (T.*) xs ys)

  def vecadd [n] (xs: [n]t) (ys: [n]t): [n]t = map2 (T.+) xs ys
  def vecsub [n] (xs: [n]t) (ys: [n]t): [n]t = map2 (T.-) xs ys
  def vecscale [n] (k: t) (xs: [n]t): [n]t = map (k T.*) xs

  -- | All products of an element of the first with one of the second.
  def outer [n][m] (xs: [n]t) (ys: [m]t): [n][m]t = map (\x -> map (x T.*) ys) xs

  def matadd [n][m] (a: [n][m]t) (b: [n][m]t): [n][m]t = map2 vecadd a b
  def matsub [n][m] (a: [n][m]t) (b: [n][m]t): [n][m]t = map2 vecsub a b
  def matscale [n][m] (k: t) (a: [n][m]t): [n][m]t = map (vecscale k) a

  def matvecmul_row [n][m] (a: [n][m]t) (x: [m]t): [n]t = map (dotprod x) a
  def matvecmul_col [n][m] (a: [n][m]t) (x: [n]t): [n][m]t = map2 (\row k -> vecscale k row) a x

  -- | The matrix product.
  def matmul [n][p][m] (a: [n][p]t) (b: [p][m]t): [n][m]t =
    map (\row -> map (dotprod row) (transpose b)) a

  def eye (n: i64): [n][n]t = tabulate_2d n n (\i j -> if i == j then one else zero)
  def todiag [n] (xs: [n]t): [n][n]t = tabulate_2d n n (\i j -> if i == j then xs[i] else zero)
  def fromdiag [n] (a: [n][n]t): [n]t = tabulate n (\i -> a[i, i])

  -- | The solution of `a x = b` for each column of `b`, by elimination with the largest pivot of each column.
  def solve [n][m] (a: [n][n]t) (b: [n][m]t): [n][m]t =
    let step (a: *[n][n]t, b: *[n][m]t) (k: i64): (*[n][n]t, *[n][m]t) =
      let larger i j = if T.(abs a[i, k] < abs a[j, k]) then j else i
      let pivot = loop best = k for i in k..<n do larger best i
      let swap i = if i == k then pivot else if i == pivot then k else i
      let a = map (\i -> copy a[swap i]) (iota n)
      let b = map (\i -> copy b[swap i]) (iota n)
      let factor i = if i == k then zero else T.(a[i, k] / a[k, k])
      in ( map (\i -> vecsub a[i] (vecscale (factor i) a[k])) (iota n)
         , map (\i -> vecsub b[i] (vecscale (factor i) b[k])) (iota n) )
    let (a, b) = loop (a, b) = (copy a, copy b) for k < n do step (a, b) k
    in tabulate_2d n m (\i j -> T.(b[i, j] / a[i, i]))

  -- | The inverse of a matrix.
  def inv [n] (a: [n][n]t): [n][n]t = solve a (eye n)
}
