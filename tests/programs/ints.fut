-- Integer arithmetic and conversions at all widths.

-- ==
-- entry: a
-- input { 127i8 } output { -128i8 1i8 -2i8 }
entry a (x: i8) = (x + 1, x * x, x + x)

-- ==
-- entry: b
-- input { 255u8 } output { 0u8 254u8 -1i8 255i32 255u64 }
entry b (x: u8) = (x + 1, x * 2, i8.u8 x, i32.u8 x, u64.u8 x)

-- ==
-- entry: c
-- input { -7i32 2i32 } output { -4i32 1i32 -3i32 -1i32 }
-- input { -7i32 0i32 } error: .
entry c (x: i32) y = (x / y, x % y, x // y, x %% y)

-- ==
-- entry: d
-- input { -1i8 } output { 255u64 4294967295u64 -1i64 255u8 255i64 }
entry d (x: i8) = (u64.i8 x, u64.i32 (i32.i8 x) , i64.i8 x, u8.i8 x, i64.u8 (u8.i8 x))

-- ==
-- entry: e
-- input {} output { 3i32 29i32 1i32 32i32 32i32 8i32 }
entry e = (i32.popc 7, i32.clz 5, i32.ctz 6, i32.clz 0, i32.ctz 0, u8.clz 0)

-- ==
-- entry: f
-- input {} output { 1i64 0i32 -1i32 1i32 4294967295i64 }
entry f = (u64.mul_hi (1u64 << 63) 2 |> i64.u64, i32.sgn 0, i32.sgn (-5), i32.get_bit 3 8, i64.u32 u32.highest)

-- ==
-- entry: g
-- input {} output { 12i32 8i32 -1i16 65535u16 -2i32 2147483647i32 }
entry g = (i32.set_bit 2 8 1, i32.set_bit 2 12 0, i16.not 0, u16.not 0, -3i32 >> 1, (i32.>>>) (-1) 1)

-- ==
-- entry: h
-- input {} output { 2i32 -3i32 0i32 127i8 1i32 0i32 }
entry h = (i32.f64 2.9, i32.f64 (-3.9), i32.f64 f64.nan, i8.f32 300, i32.bool true, i32.bool false)

-- ==
-- entry: i
-- input {} output { 1024i64 1i32 -27i32 }
entry i = (2i64**10, 5i32**0, (-3i32)**3)

-- ==
-- entry: j
-- input { 5i32 } error: .
entry j (x: i32) = 2 ** (x - 6)

-- ==
-- entry: k
-- input {} output { true true false true }
entry k = (bool.i32 3, bool.f32 0.5, bool.u8 0, bool.bool true)

-- ==
-- entry: l
-- input {} output { 6u8 24i16 9u16 1i8 }
entry l = (u8.sum [1,2,3], i16.product [2,3,4], u16.maximum [3,9,1], i8.minimum [4,1])

-- ==
-- entry: m
-- input {} output { -128i8 255u8 0u16 -32768i16 }
entry m = (i8.maximum [], u8.minimum [], u16.sum [], i16.lowest)
