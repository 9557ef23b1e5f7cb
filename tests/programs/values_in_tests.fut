-- All forms of values in tests.

-- ==
-- entry: a
-- input { [[1.5f32, -2], [0x10f32, 1e3]] } output { [[1.5f32, -2.0], [16.0f32, 1000.0]] }
entry a (x: [][]f32) = x

-- ==
-- entry: b
-- input { f32.nan -f32.inf f64.inf } output { f32.nan -f32.inf f64.inf }
entry b (x: f32) (y: f32) (z: f64) = (x, y, z)

-- ==
-- entry: c
-- input { empty([0][2]i32) 1_000i64 0b11u8 } output { empty([0][2]i32) 1000i64 3u8 }
entry c (x: [][2]i32) (y: i64) (z: u8) = (x, y, z)

-- ==
-- entry: d
-- input { "a\nb" [true, false] } output { 3i64 false }
entry d (s: []u8) (b: []bool) = (length s, and b)

-- ==
-- entry: e
-- input { -5i8 5u16 -0.5f16 } output { -5i8 5u16 -0.5f16 }
entry e (x: i8) (y: u16) (z: f16) = (x, y, z)

-- ==
-- entry: f
-- input { [[[1],[2]],[[3],[4]]] } output { [[[1],[2]],[[3],[4]]] }
entry f (x: [2][2][1]i32) = x

-- ==
-- "named dataset" nobench input { 1 }
-- output { 1 }
-- ==
-- entry: main2
-- input { 1 } output
-- { 2 }
entry main2 (x: i32) = x + 1
entry main (x: i32) = x
