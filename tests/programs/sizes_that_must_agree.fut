-- Sizes with one name agree where they are hidden behind it, and where a function that asks for it is called by another type.
-- Expected values: by hand.
-- ==
-- entry: result
-- input { [1i64, 2i64] [3i64, 4i64] } output { [4i64, 6i64] }
-- input { [1i64, 2i64] [3i64, 4i64, 5i64] } error: size mismatch
-- input { [1i64, 2i64, 3i64] [4i64, 5i64] } error: size mismatch

-- ==
-- entry: record
-- input { [1i64, 2i64] [3i64, 4i64] } output { [4i64, 6i64] }
-- input { [1i64, 2i64] [3i64, 4i64, 5i64] } error: size mismatch

-- ==
-- entry: argument
-- input { [1i64, 2i64] [3i64, 4i64] } output { [4i64, 6i64] }
-- input { [1i64, 2i64] [3i64, 4i64, 5i64] } error: size mismatch

-- ==
-- entry: product
-- input { [[1i64, 2i64], [3i64, 4i64]] [1i64, 1i64] } output { [3i64, 7i64] }
-- input { [[1i64, 2i64], [3i64, 4i64]] [1i64, 1i64, 1i64] } error: size mismatch

-- ==
-- entry: called
-- input { [1i64, 2i64] [3i64, 4i64] } output { 11i64 11i64 [4i64, 6i64] }
-- input { [1i64, 2i64] [3i64, 4i64, 5i64] } error: size mismatch in a call of dot

-- ==
-- entry: in_pattern in_expression
-- input { [1i64, 2i64] [3i64, 4i64] } output { 4i64 }
-- input { [1i64, 2i64] [3i64, 4i64, 5i64] } error: size mismatch: expected

def hidden [n][m] (p: [n]i64) (q: [m]i64): ?[k].([k]i64, [k]i64) = (p, q)

entry result (p: []i64) (q: []i64): []i64 = let (a, b) = hidden p q in map2 (+) a b

type~ pair = ?[n].{a: [n]i64, b: [n]i64}

def pair (p: []i64) (q: []i64): pair = {a = p, b = q}
def plus (r: pair): []i64 = map2 (+) r.a r.b

entry record (p: []i64) (q: []i64): []i64 = plus (pair p q)
entry argument (p: []i64) (q: []i64): []i64 = plus {a = p, b = q}

type~ system = ?[n][m].{rows: [n][m]i64, v: [m]i64}

entry product (p: [][]i64) (q: []i64): []i64 =
  let s: system = {rows = p, v = q}
  in map (\row -> i64.sum (map2 (*) row s.v)) s.rows

def dot [n] (a: [n]i64) (b: [n]i64): i64 = i64.sum (map2 (*) a b)
def of_any: []i64 -> []i64 -> i64 = dot
def with_both (f: []i64 -> []i64 -> i64) (x: []i64) (y: []i64): i64 = f x y
def sums = map2 (i64.+)
def with_arrays (f: []i64 -> []i64 -> []i64) (x: []i64) (y: []i64): []i64 = f x y

entry called (p: []i64) (q: []i64): (i64, i64, []i64) = (of_any p q, with_both dot p q, with_arrays sums p q)

entry in_pattern (p: []i64) (q: []i64): i64 =
  let (a, b): ?[k].([k]i64, [k]i64) = (p, q)
  in length a + length b

entry in_expression (p: []i64) (q: []i64): i64 =
  let (a, b) = ((p, q): ?[k].([k]i64, [k]i64))
  in length a + length b
