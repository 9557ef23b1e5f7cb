-- Numbers, characters, strings, ranges.

-- ==
-- entry: ints
-- input {} output { 255u8 5i32 1000i64 -1i8 15.5f64 2.0f32 133700f64 31i32 }
entry ints = (0xffu8, 0b101i32, 1_000i64, 255i8, 0x1.fp3f64, 2f32, 1337e2f64, 0x1f)

-- ==
-- entry: chars
-- input {} output { 97u8 10i32 39u8 955i32 }
entry chars = ('a' : u8, '\n' : i32, '\'' : u8, 'λ' : i32)

-- ==
-- entry: str
-- input {} output { [206u8, 187u8, 34u8] 3i64 }
entry str = let s = "λ\"" in (s, length s)

-- ==
-- entry: proj
-- input {} output { 3i32 }
entry proj = let x = ((1,2i32),(3i32,4)) in x.1.0 + (let y = (0i32, 1) in y.0)

-- ==
-- entry: rng
-- input {} output { [1i32,2,3] [5i32,4,3,2,1,0] [0i32,2,4] [9i32,8,7] }
entry rng = (1..<4, 5..4...0, 0..2..<6, 9i32..>6)

-- ==
-- entry: big
-- input {} output { 18446744073709551615u64 -9223372036854775808i64 9223372036854775807i64 }
entry big = (18446744073709551615u64, i64.lowest, 9223372036854775807i64)
