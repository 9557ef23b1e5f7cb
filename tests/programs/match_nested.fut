-- Nested matches, irrefutable constructors, enumerations.

-- ==
-- entry: a
-- input { 3i32 } output { 5i32 }
entry a (x: i32) = match x case 1 -> 2 case _ -> match x case 3 -> 5 case _ -> 6

-- ==
-- entry: b
-- input { true } output { 1i32 }
entry b (x: bool) = match x case true -> 1 case false -> 2

-- ==
-- entry: c
-- input {} output { 6i32 }
entry c = match {a = 1i32, b = (2i32, 3i32)} case {a, b = (c, d)} -> a + c + d

-- ==
-- entry: d
-- input {} output { 3i32 }
entry d = match () case () -> 3
type one = #only i32

-- ==
-- entry: e
-- input {} output { 4i32 }
entry e = let #only x = #only 4 : one in x
def f (#only x : one) = x + 1

-- ==
-- entry: g
-- input {} output { 5i32 }
entry g = f (#only 4)

-- ==
-- entry: h
-- input { 200u8 -5i8 } output { 1i32 2i32 }
entry h (x: u8) (y: i8) = (match x case 200 -> 1i32 case _ -> 0, match y case -5 -> 2i32 case _ -> 0)
type e = #foo | #bar | #baz

-- ==
-- entry: i
-- input {} output { [0i32,1,2] true false }
entry i = let f (x: e) = match x case #foo -> 0i32 case #bar -> 1 case #baz -> 2 in (map f [#foo, #bar, #baz], (#foo : e) == #foo, (#foo : e) == #bar)
