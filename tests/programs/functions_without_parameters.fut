-- Functions that are defined without parameters, for arrays of any size, where the size is known only when they are called.
-- Expected values: by hand.
-- ==
-- entry: passed
-- input { [1i64, 2i64, 3i64] } output { 6i64 [2i64, 4i64, 6i64] [3i64, 6i64, 9i64] }

-- ==
-- entry: in_a_record
-- input { [1i64, 2i64] } output { 3i64 3i64 }

-- ==
-- entry: behind_a_signature
-- input { 4i64 } output { 6i64 [0i64, 2i64, 4i64, 6i64] [0i64, 3i64, 6i64, 9i64] }

-- ==
-- entry: chosen
-- input { [4i64, 5i64] true } output { 9i64 }
-- input { [4i64, 5i64] false } output { 4i64 }

-- ==
-- entry: mapped
-- input { [[1i64, 2i64], [3i64, 4i64]] } output { [3i64, 7i64] }

-- ==
-- entry: gradient
-- input { [3.0, 4.0] } output { [0.6, 0.8] }

def total = reduce (i64.+) 0
def doubled = map (* 2i64)
def times (k: i64) = map (i64.* k)
def norm = map (** 2) >-> f64.sum >-> f64.sqrt

def call 'a 'b (f: []a -> b) (x: []a): b = f x
def call_array (f: []i64 -> []i64) (x: []i64): []i64 = f x
def with_three (f: i64 -> []i64 -> []i64) (x: []i64): []i64 = f 3 x

entry passed (x: []i64): (i64, []i64, []i64) = (call total x, call_array doubled x, with_three times x)

type~ numbers = []i64
type^ fold = {f: numbers -> i64}

def again: []i64 -> i64 = total

entry in_a_record (x: []i64): (i64, i64) =
  let fold: fold = {f = total}
  in (fold.f x, call again x)

module vectors: {
  type~ t
  val make: i64 -> t
  val total: t -> i64
  val plus: t -> t -> t
  val times: i64 -> t -> t
  val elements: t -> []i64
} = {
  type~ t = []i64
  def make (n: i64) = iota n
  def total = reduce (i64.+) 0
  def plus = map2 (i64.+)
  def times (k: i64) = map (i64.* k)
  def elements (x: t) = x
}

entry behind_a_signature (n: i64): (i64, []i64, []i64) =
  let x = vectors.make n
  in (vectors.total x, vectors.elements (vectors.plus x x), vectors.elements (vectors.times 3 x))

entry chosen (x: []i64) (all: bool): i64 =
  let f = if all then total else \x -> x[0]
  in f x

entry mapped (x: [][]i64): []i64 = map (call total) x

entry gradient (x: [2]f64): [2]f64 = grad (call norm) x
