-- Literals, arithmetic and the members of number modules.

-- ==
-- entry: lits
-- input {} output { 255i32 10i32 1000000i64 15.5f64 97i32 [104u8,105u8] 0.5f32 1e10f64 255u8 }
entry lits = (0xff : i32, 0b1010 : i32, 1_000_000i64, 0x1.fp3 : f64, 'a' : i32, "hi", 5e-1f32, 1e10, 0xFFu8)

-- ==
-- entry: lits2
-- input {} output { 3f32 3f64 2.0f16 10i8 -1i8 3000000000i64 }
entry lits2 = (3 : f32, 3f64, 2f16, 0x0ai8, -1i8, 3_000_000_000i64)

-- ==
-- entry: wraps
-- input {} output { 1u8 -128i8 }
entry wraps = (257u8, 128i8)

-- ==
-- entry: divs
-- input { -7 2 } output { -4 1 -3 -1 }
-- input { 7 -2 } output { -4 -1 -3 1 }
entry divs (x: i32) (y: i32) = (x / y, x % y, x // y, x %% y)

-- ==
-- entry: fdivs
-- input { -7.5 2.0 } output { -3.75 -1.5 }
entry fdivs (x: f64) (y: f64) = (x / y, x % y)

-- ==
-- entry: pows
-- input {} output { 8i32 64i32 8f64 1i32 }
entry pows = (2**3 : i32, 2**3**2, 2.0**3.0, 5i32 ** 0)

-- ==
-- entry: bits
-- input { 12i32 10i32 } output { 8i32 14i32 6i32 -13i32 48i32 3i32 }
entry bits (a: i32) (b: i32) = (a & b, a | b, a ^ b, !a, a << 2, a >> 2)

-- ==
-- entry: ubits
-- input { 0x80000000u32 } output { 1u32 -1i32 }
entry ubits (a: u32) = (a >> 31, i32.u32 a >> 31)

-- ==
-- entry: conv
-- input { -1.9f64 } output { -1i32 -1i64 255u8 -1.9f32 true 1i32 0f32 }
entry conv (x: f64) = (i32.f64 x, i64.f64 x, u8.i8 (-1), f32.f64 x, bool.f64 x, i32.bool true, f32.bool false)

-- ==
-- entry: members
-- input {} output { 2147483647i32 -128i8 32i32 3i32 28i32 2i32 }
entry members = (i32.highest, i8.lowest, i32.num_bits, i32.popc 7, i32.clz 8, i32.ctz 12)

-- ==
-- entry: hi
-- input {} output { 1i32 4u32 -1i32 }
entry hi = (i32.mul_hi 65536 65536, u32.mad_hi 0xffffffff 2 3, i32.mul_hi (-1) 5)

-- ==
-- entry: reals
-- input {} output { 2.0 3.0 -3.0 2.0 1.0 0.5 true false 2.0 -2.0}
entry reals = (f64.round 2.5, f64.ceil 2.1, f64.floor (-2.1), f64.trunc 2.9, f64.abs (-1.0), f64.recip 2.0, f64.isnan f64.nan, f64.isinf 1, f64.max f64.nan 2, f64.copysign 2 (-1))

-- ==
-- entry: fbits
-- input {} output { 0x3ff0000000000000u64 1.0f32 15360u16}
entry fbits = (f64.to_bits 1, f32.from_bits 0x3f800000, f16.to_bits 1)

-- ==
-- entry: lerps
-- input {} output { 1.5 8.0 7.0 3.0 120.0 }
entry lerps = (f64.lerp 1 2 0.5, f64.ldexp 1 3, f64.fma 2 3 1, f64.hypot 0 3, f64.gamma 6)

-- ==
-- entry: nans
-- input {} output { false true false false }
entry nans = (f32.nan == f32.nan, f32.nan != f32.nan, f32.nan < 1, f32.nan >= 1)

-- ==
-- entry: getset
-- input {} output { 1i32 6u8 5i32 }
entry getset = (i32.get_bit 1 2, u8.set_bit 1 4 1, i32.set_bit 0 4 1)

-- ==
-- entry: sums
-- input { [1,2,3] } output { 6 6 3 1 }
-- input { empty([0]i32) } output { 0 1 -2147483648 2147483647 }
entry sums (xs: []i32) = (i32.sum xs, i32.product xs, i32.maximum xs, i32.minimum xs)

-- ==
-- entry: prec
-- input {} output { true 8 4.0 3 12 }
entry prec = (5 & 3 == 1i32, 1 << 2 + 1i32, 7.0 + 9.0 |> f64.sqrt, 3 `i32.max` 4 |> i32.neg, (+ 1) <| 5 |> (* 2i32))

-- ==
-- entry: neg
-- input { 3 } output { 9 -9 -4}
entry neg (x: i32) = (-x ** 2, -(x ** 2), -(+ 1) x)

-- ==
-- entry: chars
-- input {} output { [104u8, 195u8, 166u8, 10u8] 10u8 39u8 }
entry chars = ("hæ\n", '\n' : u8, '\'' : u8)
