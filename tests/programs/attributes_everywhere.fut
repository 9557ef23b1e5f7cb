-- Attributes in every place they may stand.

#[inline]
def f (x: i32) = x + 1

-- ==
-- entry: a
-- input { [1i32,2] } output { [2i32,3] }
#[noinline]
entry a (xs: []i32) = #[sequential] map f xs

-- ==
-- entry: b
-- input { [1i32,2] } output { 2i32 }
entry b (xs: []i32) = #[unsafe] let x = xs[1] in x

-- ==
-- entry: c
-- input { [3i32] } output { 10i32 }
entry c (xs: []i32) = #[unroll] loop acc = xs[0] for i < 4 do acc + i32.i64 i + #[trace] 0 + (#[trace(foo)] 0) + 1 - 1 + (if i == 3 then 1 else 0)

-- ==
-- entry: d
-- input {} output { 5i32 }
entry d = (#[sequential_outer] #[flattening(moderate)] 5i32)
module type t = { #[doc(foo)] val x : i32 }
#[foo] module m : t = { #[bar(1, baz)] def x = 3i32 }

-- ==
-- entry: e
-- input {} output { 3i32 }
entry e = m.x
