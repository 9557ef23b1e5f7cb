-- A definition without parameters that is a function: the size of its result is tied to the argument, or is the result's own, as where the
-- parameters are written.

def mk = iota
def lambda = \(n: i64) -> replicate n 1f64
def curried = \(n: i64) -> \(m: i64) -> replicate n (replicate m 1i64)
def rep = replicate
def evens = filter (\x -> x % 2i64 == 0)
def dedup = \(xs: []i32) -> let k = filter (\i -> i == 0 || xs[i] != xs[i-1]) (indices xs) in map (\i -> xs[i]) k
def tables = {of = \(n: i64) -> iota n, evens}

-- No rows: their width is known all the same.

-- ==
-- entry: rows_of_an_alias
-- input { 0i64 3i64 } output { empty([0][3]i64) }
-- input { 1i64 2i64 } output { [[0i64, 1i64]] }

entry rows_of_an_alias (n: i64) (m: i64) = map (\_ -> mk m) (iota n)

-- ==
-- entry: columns_of_a_lambda
-- input { 0i64 3i64 } output { [0.0, 0.0, 0.0] }
-- input { 2i64 3i64 } output { [2.0, 2.0, 2.0] }

entry columns_of_a_lambda (n: i64) (m: i64) : [m]f64 = let w = map (\_ -> lambda m) (iota n) in map f64.sum (transpose w)

-- ==
-- entry: planes
-- input { 0i64 3i64 } output { empty([0][3][2]i64) }

entry planes (n: i64) (m: i64) = map (\i -> rep m (rep 2 i)) (iota n)

-- ==
-- entry: two_arguments
-- input { 2i64 3i64 } output { [2i64, 2i64, 2i64] }

entry two_arguments (n: i64) (m: i64) = map i64.sum (transpose (curried n m))

-- ==
-- entry: named_size
-- input { 5i64 } output { 3i64 }

entry named_size (n: i64) = let [m] (_: [m]i64) = evens (iota n) in m

-- ==
-- entry: named_size_of_a_lambda
-- input { [1i32, 1i32, 2i32, 1i32] } output { 3i64 }

entry named_size_of_a_lambda (xs: []i32) = let [m] (_: [m]i32) = dedup xs in m

-- ==
-- entry: fields
-- input { 5i64 } output { 5i64 3i64 }

entry fields (n: i64) = let [a] (_: [a]i64) = tables.of n let [b] (_: [b]i64) = tables.evens (iota n) in (a, b)

module type maker = { val mk : (n: i64) -> [n]i64 val rep 't : (n: i64) -> t -> [n]t }
module maker : maker = { def mk = iota def rep = replicate }

-- ==
-- entry: through_a_module_type
-- input { 2i64 } output { [1i64, 2i64] }

entry through_a_module_type (n: i64) : [n]i64 = map2 (+) (maker.mk n) (maker.rep n 1)

-- The size of a closure's results is unknown here, but is the same in every call.

-- ==
-- entry: one_size_for_all_calls
-- input { [1i64, 3i64, 4i64] } output { [[3i64, 3i64], [4i64, 4i64]] }

entry one_size_for_all_calls (xs: []i64) =
  let of_evens (xs: []i64) = let k = length (filter (\x -> x % 2 == 1) xs) in \(x: i64) -> replicate k x
  in map (of_evens xs) [3, 4]

-- The derivative's shape.

-- ==
-- entry: gradient
-- input { 0i64 [1.0, 2.0] } output { [0.0, 0.0] }
-- input { 3i64 [1.0, 2.0] } output { [3.0, 3.0] }

entry gradient [m] (n: i64) (x: [m]f64) =
  vjp (\x -> f64.sum (map (\_ -> f64.sum (map2 (*) x (lambda m))) (iota n))) x 1
