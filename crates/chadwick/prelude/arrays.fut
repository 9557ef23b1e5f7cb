-- Functions, arrays, combinators and differentiation: the part of the prelude that is not about numbers.

-- Functions -----------------------------------------------------------------------------------------------------------

#[inline] def (|>) '^a '^b (x: a) (f: a -> b): b = f x
#[inline] def (<|) '^a '^b (f: a -> b) (x: a): b = f x
#[inline] def (>->) '^a '^b '^c (f: a -> b) (g: b -> c) (x: a): c = g (f x)
#[inline] def (<-<) '^a '^b '^c (g: b -> c) (f: a -> b) (x: a): c = g (f x)
#[inline] def flip '^a '^b '^c (f: a -> b -> c) (y: b) (x: a): c = f x y
#[inline] def curry '^a '^b '^c (f: (a, b) -> c) (x: a) (y: b): c = f (x, y)
#[inline] def uncurry '^a '^b '^c (f: a -> b -> c) (x: a, y: b): c = f x y
#[inline] def const '^a '^b (x: a) (_: b): a = x
#[inline] def id '^a (x: a): a = x

def iterate 'a (n: i32) (f: a -> a) (x: a): a = loop x for _i < n do f x
def iterate_until 'a (p: a -> bool) (f: a -> a) (x: a): a = loop x while intrinsics.complement (p x) do f x
def iterate_while 'a (p: a -> bool) (f: a -> a) (x: a): a = loop x while p x do f x

#[inline] def not (x: bool): bool = intrinsics.complement x
#[inline] def opaque '^a (x: a): a = intrinsics.opaque x
#[inline] def trace 'a (x: a): a = intrinsics.trace x
#[inline] def break 'a (x: a): a = x

#[inline] def r32 (x: i32): f32 = intrinsics.convert x
#[inline] def t32 (x: f32): i32 = intrinsics.convert x
#[inline] def r64 (x: i32): f64 = intrinsics.convert x
#[inline] def t64 (x: f64): i32 = intrinsics.convert x

-- Building and taking apart -------------------------------------------------------------------------------------------

#[inline] def tabulate 'a (n: i64) (f: i64 -> a): *[n]a = let _ = intrinsics.natural n in intrinsics.build n f
#[inline] def tabulate_2d 'a (n: i64) (m: i64) (f: i64 -> i64 -> a): *[n][m]a =
  let _ = intrinsics.natural n
  let _ = intrinsics.natural m
  in intrinsics.build_2d n m f
#[inline] def tabulate_3d 'a (n: i64) (m: i64) (k: i64) (f: i64 -> i64 -> i64 -> a): *[n][m][k]a =
  let _ = intrinsics.natural n
  let _ = intrinsics.natural m
  let _ = intrinsics.natural k
  in intrinsics.build_3d n m k f

#[inline] def length [n] 'a (_: [n]a): i64 = n
#[inline] def null [n] 'a (_: [n]a): bool = n == 0
#[inline] def indices [n] 'a (_: [n]a): *[n]i64 = intrinsics.build n (\i -> i)
#[inline] def iota (n: i64): *[n]i64 = let _ = intrinsics.natural n in intrinsics.build n (\i -> i)
#[inline] def replicate 't (n: i64) (x: t): *[n]t = let _ = intrinsics.natural n in intrinsics.build n (\_ -> x)
#[inline] def rep [n] 't (x: t): *[n]t = intrinsics.build n (\_ -> x)
#[inline] def copy 't (x: t): *t = intrinsics.copy x
#[inline] def manifest 't (x: t): *t = intrinsics.copy x

#[inline] def head [n] 'a (xs: [n]a): a = xs[0]
#[inline] def last [n] 'a (xs: [n]a): a = xs[n - 1]
#[inline] def tail [n] 'a (xs: [n]a): [n - 1]a = xs[1:]
#[inline] def init [n] 'a (xs: [n]a): [n - 1]a = xs[0:n - 1]
#[inline] def take [n] 'a (i: i64) (xs: [n]a): [i]a = xs[0:i]
#[inline] def drop [n] 'a (i: i64) (xs: [n]a): [n - i]a = xs[i:]
#[inline] def sized [m] 'a (n: i64) (xs: [m]a): [n]a = xs :> [n]a
#[inline] def split [n][m] 'a (xs: [n + m]a): ([n]a, [m]a) = (xs[0:n], xs[n:] :> [m]a)
#[inline] def reverse [n] 'a (xs: [n]a): [n]a = xs[::-1] :> [n]a
#[inline] def rotate [n] 'a (r: i64) (xs: [n]a): [n]a =
  let r = if n == 0 || (-4611686018427387904 < r && r < 4611686018427387904) then r else r % n
  in intrinsics.build n (\i -> xs[(i + r) % n])
#[inline] def (++) [n][m] 'a (xs: [n]a) (ys: [m]a): *[n + m]a = intrinsics.concat xs ys
#[inline] def concat [n][m] 'a (xs: [n]a) (ys: [m]a): *[n + m]a = intrinsics.concat xs ys

#[inline] def flatten [n][m] 'a (xs: [n][m]a): [n * m]a = intrinsics.flatten xs
#[inline] def flatten_3d [n][m][k] 'a (xs: [n][m][k]a): [n * m * k]a =
  intrinsics.flatten (intrinsics.flatten xs)
#[inline] def flatten_4d [n][m][k][l] 'a (xs: [n][m][k][l]a): [n * m * k * l]a =
  intrinsics.flatten (intrinsics.flatten (intrinsics.flatten xs))
#[inline] def unflatten [n][m] 'a (xs: [n * m]a): [n][m]a = intrinsics.unflatten xs
#[inline] def unflatten_3d [n][m][k] 'a (xs: [n * m * k]a): [n][m][k]a =
  intrinsics.unflatten (intrinsics.unflatten xs : [n * m][k]a)
#[inline] def unflatten_4d [n][m][k][l] 'a (xs: [n * m * k * l]a): [n][m][k][l]a =
  intrinsics.unflatten (intrinsics.unflatten (intrinsics.unflatten xs : [n * m * k][l]a) : [n * m][k][l]a)
#[inline] def transpose [n][m] 'a (xs: [n][m]a): [m][n]a = intrinsics.transpose xs

#[inline] def zip2 [n] 'a 'b (xs: [n]a) (ys: [n]b): *[n](a, b) = intrinsics.zip xs ys
#[inline] def zip [n] 'a 'b (xs: [n]a) (ys: [n]b): *[n](a, b) = intrinsics.zip xs ys
#[inline] def zip3 [n] 'a 'b 'c (xs: [n]a) (ys: [n]b) (zs: [n]c): *[n](a, b, c) =
  intrinsics.build n (\i -> (xs[i], ys[i], zs[i]))
#[inline] def zip4 [n] 'a 'b 'c 'd (xs: [n]a) (ys: [n]b) (zs: [n]c) (us: [n]d): *[n](a, b, c, d) =
  intrinsics.build n (\i -> (xs[i], ys[i], zs[i], us[i]))
#[inline] def zip5 [n] 'a 'b 'c 'd 'e (xs: [n]a) (ys: [n]b) (zs: [n]c) (us: [n]d) (vs: [n]e): *[n](a, b, c, d, e) =
  intrinsics.build n (\i -> (xs[i], ys[i], zs[i], us[i], vs[i]))
#[inline] def unzip2 [n] 'a 'b (xs: [n](a, b)): ([n]a, [n]b) = intrinsics.unzip xs
#[inline] def unzip [n] 'a 'b (xs: [n](a, b)): ([n]a, [n]b) = intrinsics.unzip xs
#[inline] def unzip3 [n] 'a 'b 'c (xs: [n](a, b, c)): ([n]a, [n]b, [n]c) =
  (intrinsics.build n (\i -> xs[i].0), intrinsics.build n (\i -> xs[i].1), intrinsics.build n (\i -> xs[i].2))
#[inline] def unzip4 [n] 'a 'b 'c 'd (xs: [n](a, b, c, d)): ([n]a, [n]b, [n]c, [n]d) =
  ( intrinsics.build n (\i -> xs[i].0), intrinsics.build n (\i -> xs[i].1)
  , intrinsics.build n (\i -> xs[i].2), intrinsics.build n (\i -> xs[i].3))
#[inline] def unzip5 [n] 'a 'b 'c 'd 'e (xs: [n](a, b, c, d, e)): ([n]a, [n]b, [n]c, [n]d, [n]e) =
  ( intrinsics.build n (\i -> xs[i].0), intrinsics.build n (\i -> xs[i].1), intrinsics.build n (\i -> xs[i].2)
  , intrinsics.build n (\i -> xs[i].3), intrinsics.build n (\i -> xs[i].4))

-- Combinators ---------------------------------------------------------------------------------------------------------

#[inline] def map 'a [n] 'x (f: a -> x) (xs: [n]a): *[n]x = intrinsics.build n (\i -> f xs[i])
#[inline] def map1 'a [n] 'x (f: a -> x) (xs: [n]a): *[n]x = intrinsics.build n (\i -> f xs[i])
#[inline] def map2 'a 'b [n] 'x (f: a -> b -> x) (xs: [n]a) (ys: [n]b): *[n]x =
  intrinsics.build n (\i -> f xs[i] ys[i])
#[inline] def map3 'a 'b 'c [n] 'x (f: a -> b -> c -> x) (xs: [n]a) (ys: [n]b) (zs: [n]c): *[n]x =
  intrinsics.build n (\i -> f xs[i] ys[i] zs[i])
#[inline] def map4 'a 'b 'c 'd [n] 'x (f: a -> b -> c -> d -> x) (xs: [n]a) (ys: [n]b) (zs: [n]c) (us: [n]d): *[n]x =
  intrinsics.build n (\i -> f xs[i] ys[i] zs[i] us[i])
#[inline] def map5 'a 'b 'c 'd 'e [n] 'x (f: a -> b -> c -> d -> e -> x)
                   (xs: [n]a) (ys: [n]b) (zs: [n]c) (us: [n]d) (vs: [n]e): *[n]x =
  intrinsics.build n (\i -> f xs[i] ys[i] zs[i] us[i] vs[i])

#[inline] def reduce [n] 'a (op: a -> a -> a) (ne: a) (xs: [n]a): a = intrinsics.reduce op ne n (\i -> xs[i])
#[inline] def reduce_comm [n] 'a (op: a -> a -> a) (ne: a) (xs: [n]a): a =
  intrinsics.reduce_comm op ne n (\i -> xs[i])
#[inline] def scan [n] 'a (op: a -> a -> a) (ne: a) (xs: [n]a): *[n]a = intrinsics.scan op ne n (\i -> xs[i])
#[inline] def exscan [n] 'a (op: a -> a -> a) (ne: a) (xs: [n]a): *[n]a =
  let inclusive = intrinsics.scan op ne n (\i -> xs[i])
  in intrinsics.build n (\i -> if i == 0 then ne else inclusive[i - 1])

#[inline] def and [n] (xs: [n]bool): bool = intrinsics.reduce (\a b -> a && b) true n (\i -> xs[i])
#[inline] def or [n] (xs: [n]bool): bool = intrinsics.reduce (\a b -> a || b) false n (\i -> xs[i])
#[inline] def all [n] 'a (p: a -> bool) (xs: [n]a): bool = intrinsics.reduce (\a b -> a && b) true n (\i -> p xs[i])
#[inline] def any [n] 'a (p: a -> bool) (xs: [n]a): bool = intrinsics.reduce (\a b -> a || b) false n (\i -> p xs[i])

#[inline] def foldl [n] 'a 'b (f: a -> b -> a) (start: a) (xs: [n]b): a = loop state = start for x in xs do f state x
#[inline] def foldr [n] 'a 'b (f: b -> a -> a) (start: a) (xs: [n]b): a =
  loop state = start for i < n do f xs[n - 1 - i] state

#[inline] def reduce_by_index 'a [k] [n] (dest: *[k]a) (op: a -> a -> a) (ne: a) (is: [n]i64) (vs: [n]a): *[k]a =
  intrinsics.hist_1d dest op ne n (\i -> is[i]) (\i -> vs[i])
#[inline] def reduce_by_index_2d 'a [k][l] [n] (dest: *[k][l]a) (op: a -> a -> a) (ne: a)
                                 (is: [n](i64, i64)) (vs: [n]a): *[k][l]a =
  intrinsics.hist_2d dest op ne n (\i -> is[i]) (\i -> vs[i])
#[inline] def reduce_by_index_3d 'a [k][l][m] [n] (dest: *[k][l][m]a) (op: a -> a -> a) (ne: a)
                                 (is: [n](i64, i64, i64)) (vs: [n]a): *[k][l][m]a =
  intrinsics.hist_3d dest op ne n (\i -> is[i]) (\i -> vs[i])
#[inline] def hist 'a [n] (op: a -> a -> a) (ne: a) (k: i64) (is: [n]i64) (vs: [n]a): *[k]a =
  intrinsics.hist_1d (replicate k ne) op ne n (\i -> is[i]) (\i -> vs[i])

#[inline] def scatter 't [k] [n] (dest: *[k]t) (is: [n]i64) (vs: [n]t): *[k]t =
  intrinsics.scatter_1d dest n (\i -> is[i]) (\i -> vs[i])
#[inline] def scatter_2d 't [k][l] [n] (dest: *[k][l]t) (is: [n](i64, i64)) (vs: [n]t): *[k][l]t =
  intrinsics.scatter_2d dest n (\i -> is[i]) (\i -> vs[i])
#[inline] def scatter_3d 't [k][l][m] [n] (dest: *[k][l][m]t) (is: [n](i64, i64, i64)) (vs: [n]t): *[k][l][m]t =
  intrinsics.scatter_3d dest n (\i -> is[i]) (\i -> vs[i])
#[inline] def spread 't [n] (k: i64) (x: t) (is: [n]i64) (vs: [n]t): *[k]t =
  intrinsics.scatter_1d (replicate k x) n (\i -> is[i]) (\i -> vs[i])

-- The positions at which the flags hold, in order.
local def positions [n] (flags: [n]bool): ?[k].[k]i64 =
  let ranks = intrinsics.scan (+) 0i64 n (\i -> if flags[i] then 1 else 0)
  let count = if n == 0 then 0 else ranks[n - 1]
  in intrinsics.scatter_1d (intrinsics.build count (\_ -> 0i64)) n (\i -> if flags[i] then ranks[i] - 1 else -1) (\i -> i)

#[inline] def filter [n] 'a (p: a -> bool) (xs: [n]a): ?[k].*[k]a =
  let kept = positions (intrinsics.build n (\i -> p xs[i]))
  in map (\i -> xs[i]) kept

#[inline] def partition [n] 'a (p: a -> bool) (xs: [n]a): ?[k].([k]a, [n - k]a) =
  let flags = intrinsics.build n (\i -> p xs[i])
  let [k] (yes: [k]i64) = positions flags
  let no = positions (map not flags) :> [n - k]i64
  in (map (\i -> xs[i]) yes, map (\i -> xs[i]) no)

def partition2 [n] 'a (p1: a -> bool) (p2: a -> bool) (xs: [n]a): ?[k][l].([k]a, [l]a, [n - k - l]a) =
  let first = intrinsics.build n (\i -> p1 xs[i])
  let second = intrinsics.build n (\i -> intrinsics.complement first[i] && p2 xs[i])
  let [k] (one: [k]i64) = positions first
  let [l] (two: [l]i64) = positions second
  let rest = positions (map2 (\a b -> intrinsics.complement (a || b)) first second) :> [n - k - l]i64
  in (map (\i -> xs[i]) one, map (\i -> xs[i]) two, map (\i -> xs[i]) rest)

local type~ segment 'b = ?[k].[k]b

def flatmap [n] 'a 'b 'c (f: a -> ?[k].([k]b, c)) (xs: [n]a): ?[m].([n]i64, [m]bool, [n]i64, [m]b, [n]c) =
  let one (x: a): (segment b, c) = f x
  let parts = map one xs
  let lengths = map (\(p: (segment b, c)) -> length p.0) parts
  let ends = scan (+) 0i64 lengths
  let offsets = map2 (-) ends lengths
  let total = if n == 0 then 0 else ends[n - 1]
  let owner = scan (\a b -> if a > b then a else b) 0i64
                   (intrinsics.hist_1d (intrinsics.build total (\_ -> 0i64)) (\a b -> if a > b then a else b) 0
                                       n (\i -> if lengths[i] > 0 then offsets[i] else -1) (\i -> i))
  let flags = intrinsics.scatter_1d (intrinsics.build total (\_ -> false)) n
                                    (\i -> if lengths[i] > 0 then offsets[i] else -1) (\_ -> true)
  let values = intrinsics.build total (\j -> let p = parts[owner[j]] in p.0[j - offsets[owner[j]]])
  in (lengths, flags, offsets, values, map (\(p: (segment b, c)) -> p.1) parts)

def flatmap' [n] 'a 'b (f: a -> ?[k].[k]b) (xs: [n]a): ?[m].([n]i64, [m]bool, [n]i64, [m]b) =
  let (lengths, flags, offsets, values, _) = flatmap (\x -> (f x, ())) xs
  in (lengths, flags, offsets, values)

#[par] def par '^a '^b (x: a) (y: b): (a, b) = intrinsics.par x y

-- Differentiation -----------------------------------------------------------------------------------------------------

#[inline] def jvp 'a 'b (f: a -> b) (x: a) (x': a): b = intrinsics.jvp f x x'
#[inline] def jvp2 'a 'b (f: a -> b) (x: a) (x': a): (b, b) = intrinsics.jvp2 f x x'
#[inline] def vjp 'a 'b (f: a -> b) (x: a) (y': b): a = intrinsics.vjp f x y'
#[inline] def vjp2 'a 'b (f: a -> b) (x: a) (y': b): (b, a) = intrinsics.vjp2 f x y'
#[inline] def jmp 'a 'b [n] (f: a -> b) (x: a) (xs': [n]a): [n]b = intrinsics.jmp f x xs'
#[inline] def jmp2 'a 'b [n] (f: a -> b) (x: a) (xs': [n]a): (b, [n]b) = intrinsics.jmp2 f x xs'
#[inline] def mjp 'a 'b [n] (f: a -> b) (x: a) (ys': [n]b): [n]a = intrinsics.mjp f x ys'
#[inline] def mjp2 'a 'b [n] (f: a -> b) (x: a) (ys': [n]b): (b, [n]a) = intrinsics.mjp2 f x ys'
#[inline] def with_vjp 'a 'b (f: a -> b) (f': (res: b) -> (adj: b) -> a) (x: a): b = intrinsics.with_vjp f f' x
#[inline] def with_vjp_tape 'a 'b 'c (f: a -> (c, b)) (f': (c, b) -> a) (x: a): b = intrinsics.with_vjp_tape f f' x
#[inline] def with_jvp 'a 'b (f: a -> b) (f': (x: a) -> (x': a) -> b) (x: a): b = intrinsics.with_jvp f f' x

#[inline] #[class(r, real)] def grad 'a 'r (f: a -> r) (x: a): a = intrinsics.vjp f x (intrinsics.one : r)
#[inline] #[class(r, real)] def value_and_grad 'a 'r (f: a -> r) (x: a): (r, a) =
  intrinsics.vjp2 f x (intrinsics.one : r)

local def one_hot 'r (n: i64) (i: i64): [n]r =
  intrinsics.build n (\j -> if i == j then intrinsics.one else intrinsics.zero)

#[inline] #[class(r, real)] def jacfwd [n][m] 'r (f: [n]r -> [m]r) (x: [n]r): [m][n]r =
  intrinsics.transpose (intrinsics.jmp f x (intrinsics.build n (one_hot n)))
#[inline] #[class(r, real)] def jacrev [n][m] 'r (f: [n]r -> [m]r) (x: [n]r): [m][n]r =
  intrinsics.mjp f x (intrinsics.build m (one_hot m))
#[inline] #[class(r, real)] def hessian [n] 'r (f: [n]r -> r) (x: [n]r): [n][n]r =
  intrinsics.transpose (intrinsics.jmp (\y -> intrinsics.vjp f y (intrinsics.one : r)) x (intrinsics.build n (one_hot n)))
#[inline] #[class(r, real)] def hvp 'a 'r (f: a -> r) (x: a) (v: a): a =
  intrinsics.jvp (\y -> intrinsics.vjp f y (intrinsics.one : r)) x v
