-- Nested, literal and constructor patterns.

type shape = #circle f64 | #rect f64 f64 | #unit
def area (s: shape) : f64 = match s case #circle r -> 3 * r * r case #rect a b -> a * b case #unit -> 1

-- ==
-- entry: a
-- input {} output { [12.0, 6.0, 1.0] }
entry a = map area [#circle 2, #rect 2 3, #unit]

-- ==
-- entry: b
-- input { 0i32 } output { 10i32 }
-- input { 1i32 } output { 20i32 }
-- input { -3i32 } output { 30i32 }
-- input { 7i32 } output { 7i32 }
entry b (x: i32) = match x case 0 -> 10 case 1 -> 20 case -3 -> 30 case n -> n

-- ==
-- entry: c
-- input { 1i32 true } output { 1i32 }
-- input { 2i32 true } output { 2i32 }
-- input { 2i32 false } output { 3i32 }
entry c (x: i32) (y: bool) = match (x, y) case (1, true) -> 1 case (_, true) -> 2 case (_, false) -> 3
type t = #a (#x i32 | #y bool) | #b {p: i32, q: (i32, bool)}
def ev (v: t) = match v
  case #a (#x 3) -> 1i32
  case #a (#x n) -> n
  case #a (#y true) -> 100
  case #a (#y _) -> 200
  case #b {p, q = (0, _)} -> p
  case #b {p = 1, q = (z, true)} -> z
  case #b {p, q = (z, _)} -> p + z

-- ==
-- entry: d
-- input {} output { [1i32, 4, 100, 200, 7, 5, 8] }
entry d = map ev [#a (#x 3), #a (#x 4), #a (#y true), #a (#y false), #b {p=7,q=(0,true)}, #b {p=1,q=(5,true)}, #b {p=3,q=(5,true)}]

-- ==
-- entry: f
-- input { 97u8 } output { 1i32 }
-- input { 98u8 } output { 2i32 }
entry f (c: u8) : i32 = match c case 'a' -> 1 case 'b' -> 2 case _ -> 0

-- ==
-- entry: g
-- input { 1.5 } output { 1i32 }
-- input { -2.0 } output { 2i32 }
entry g (c: f64) : i32 = match c case 1.5 -> 1 case -2.0 -> 2 case _ -> 0
