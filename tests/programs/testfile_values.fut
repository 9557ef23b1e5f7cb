-- Every kind of value and case.

-- ==
-- entry: d
-- random input { [10]i32 5i64 } auto output
-- input { [1,2,3] 1i64 } output { 2 }
-- structure gpu { Screma 1 }
-- structure { If/True/Screma 0 }
entry d (xs: []i32) (i: i64) = xs[i]

-- ==
-- entry: e
-- input { "a\nb" 0xff -0x10i8 1_000 } output { 10u8 255i32 -16i8 1000i32 }
entry e (s: []u8) (a: i32) (b: i8) (c: i32) = (s[1], a, b, c)

-- ==
-- entry: f
-- input { 1e3 1e-2f32 -f64.inf f64.nan 5f64 } output { 1000.0 0.01f32 -f64.inf f64.nan 5f64 }
entry f (a: f64) (b: f32) (c: f64) (d: f64) (e: f64) = (a, b, c, d, e)

-- ==
-- entry: g
-- input { empty([2][0]i32) } output { empty([0][2]i32) }
entry g (a: [][]i32) = transpose a

-- ==
-- entry: h
-- script input { mk 3i64 } output { 3i64 }
entry mk (n: i64) = iota n
entry h (xs: []i64) = i64.sum xs
