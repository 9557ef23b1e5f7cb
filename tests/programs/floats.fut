-- Float functions at several types.

-- ==
-- entry: a
-- input {} output { 2.0 3.0 -2.0 2.0 2.0 4.0 f64.nan }
entry a = (f64.floor 2.7, f64.ceil 2.1, f64.trunc (-2.7), f64.round 2.5, f64.round 1.5, f64.round 3.5, f64.sqrt (-1))

-- ==
-- entry: b
-- input {} output { true false true 0.5 8.0f32 3.0 }
entry b = (f64.isnan f64.nan, f64.isinf 1, f32.isinf (1/0), f64.from_fraction 1 2, f32.ldexp 2 2, f64.copysign (-3) 1)

-- ==
-- entry: c
-- input {} output { 5.0 1.0 0.5 2.5 10.0 }
entry c = (f64.hypot 3 4, f64.sinpi 0.5, f64.recip 2, f64.lerp 2 3 0.5, f64.fma 2 3 4)

-- ==
-- entry: d
-- input {} output { 0x3f800000u32 1.0f32 4607182418800017408u64 }
entry d = (f32.to_bits 1, f32.from_bits 0x3f800000, f64.to_bits 1)

-- ==
-- entry: e
-- input {} output { -1.0 1.0f32 3.5 f64.inf -f64.inf f32.inf }
entry e = (-7.0 % 3.0, 7f32 % 2, f64.max f64.nan 3.5, f64.highest, f64.maximum [], f32.inf)

-- ==
-- entry: f
-- input {} output { 1.0f16 0.5f16 3f32 }
entry f = (f16.f32 1, 1f16 / 2, f32.f16 3)

-- ==
-- entry: g
-- input {} output { 3.0f32 -2i32 3.0 4i32 }
entry g = (r32 3, t32 (-2.5), r64 3, t64 4.9)

-- ==
-- entry: h
-- input {} output { 24.0 0.0 1.0 6.0f32 0.8427 }
entry h = (f64.gamma 5, f64.lgamma 1, f64.exp 0, f32.abs (-6), f64.erf 1)

-- ==
-- entry: i
-- input {} output { 1000000.0 1e-3 1.5e10f32 }
entry i = (1_000_000.0, 1e-3, 1.5e10f32)
