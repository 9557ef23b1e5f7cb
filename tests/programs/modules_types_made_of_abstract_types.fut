-- A module type may say what a type is in terms of types that it leaves open: then the module's own types are compared with what stands
-- behind those.

module type num = { type t val one : t val plus : t -> t -> t val get : t -> i32 }
module i32_num = { type t = i32 def one = 1i32 def plus (x: i32) y = x + y def get (x: i32) = x }

module type pairs = { type v type w type t = (v, w) type~ ts = []t type^ fn = v -> v val mk : i32 -> t val swap : (w, v) -> t val all : i64 -> ts val next : fn val see : v -> i32 }
module pairs : pairs = {
  type v = i32
  type w = bool
  type t = (i32, bool)
  type~ ts = [](i32, bool)
  type^ fn = i32 -> i32
  def mk x = (x, x > 0)
  def swap ((a, b): (bool, i32)) = (b, a)
  def all n = map (\i -> (i32.i64 i, true)) (iota n)
  def next = (+ 1)
  def see (x: v) = x : i32
}

-- ==
-- entry: a_pair_of_them
-- input { 3i32 } output { 4i32 }

entry a_pair_of_them (x: i32) = let (v, w) = pairs.mk x let (v, _) = pairs.swap (w, v) in pairs.see (pairs.next v)

-- ==
-- entry: arrays_of_pairs
-- input { 4i64 } output { 6i32 }

entry arrays_of_pairs (n: i64) = i32.sum (map (\(v, _) -> pairs.see v) (pairs.all n))

module type sized = { type v [n] type t = v [3] val mk : f64 -> t val sum [n] : v [n] -> f64 }
module sized : sized = { type v [n] = [n]f64 type t = [3]f64 def mk x = [x, x, x] def sum [n] (x: [n]f64) = f64.sum x }

-- ==
-- entry: of_a_size
-- input { 2.0 } output { 6.0 }

entry of_a_size (x: f64) = sized.sum (sized.mk x)

module type included = { type v include num with t = v val un : v -> i32 }
module included : included = { open i32_num type v = i32 def un (v: v) = v * 10 }

-- ==
-- entry: by_include
-- input { 1i32 } output { 21i32 }

entry by_include (x: i32) = included.un (included.plus included.one included.one) + x

module type inside = { type v module n : num with t = v module m : num with t = n.t val out : v -> i32 }
module inside : inside = { type v = i32 module n = i32_num module m = i32_num def out (v: v) = v - 1 }

-- ==
-- entry: of_modules_inside
-- input { 5i32 } output { 6i32 }

entry of_modules_inside (x: i32) = inside.out (inside.n.plus inside.m.one (inside.m.one)) + x

module counted (N: num) : { type count type t = (N.t, count) val start : t val step : t -> t val both : t -> (i32, i64) } = {
  type count = i64
  type t = (N.t, i64)
  def start = (N.one, 0i64)
  def step ((x, n): t) = (N.plus x N.one, n + 1)
  def both ((x, n): t) = (N.get x, n)
}
module counted_i32 = counted i32_num

-- ==
-- entry: result_of_a_parametric_module
-- input { 3i32 } output { 4i32 3i64 }

entry result_of_a_parametric_module (k: i32) = counted_i32.both (iterate k counted_i32.step counted_i32.start)

module type two = { type k type v type kv = (k, v) val mk : k -> v -> kv }
module two_open = { type k = i32 type v = f64 type kv = (i32, f64) def mk (k: k) (v: v) = (k, v) def get (v: v) = v }
module one_known : { include two with k = i32 val get : v -> f64 } = two_open
module both_known : two with k = i32 with v = f64 = two_open

-- ==
-- entry: refined_in_part
-- input { 2i32 0.5 } output { 2i32 3.5 }

entry refined_in_part (k: i32) (x: f64) =
  let (k, v) = both_known.mk k x
  in (k, v * 7)
