-- Entry tuples.

-- ==
-- entry: a
-- input { 1i32 2.0 } output { 2.0 1i32 }
entry a (p: (i32, f64)) = (p.1, p.0)

-- ==
-- entry: b
-- input { 1i32 2i32 3i32 } output { 6i32 }
entry b ((x, y): (i32, i32)) (z: i32) = x + y + z

-- ==
-- entry: c
-- input { [1i32,2] [3i32,4] } output { [4i32,6] }
entry c [n] (xs: ([n]i32, [n]i32)) : [n]i32 = map2 (+) xs.0 xs.1

-- ==
-- entry: d
-- input {} output { 1i32 2i32 3i32 }
entry d : (i32, (i32, i32)) = (1, (2, 3))
entry e (x: i32): i32 = x + 1
def f = e 3

-- ==
-- entry: g
-- input {} output { 4i32 }
entry g = f
#[noinline]
entry h (x: i32) = x

-- ==
-- entry: h g2
-- input { 5i32 } output { 5i32 }
entry g2 (x: i32) : i32 = #[opaque] x
