-- A match with many rows over pairs of sums.

type t2 = #p | #q i32
type t = #a i32 | #b i32 i32 | #c {x: i32, y: bool} | #d (i32, (bool, u8)) | #e | #f ([2]i32) | #g t2
def f (v: t) (w: t) : i32 = match (v, w)
  case (#a 1, #a 2) -> 1
  case (#a x, #a _) -> x
  case (#b 0 y, _) -> y
  case (#b x 0, #e) -> x + 100
  case (#b x y, #f arr) -> x + y + arr[0] + arr[1]
  case (#c {x, y = true}, _) -> x
  case (#c {x = 5, y = false}, #g #p) -> 55
  case (#c {x = _, y = false}, #g (#q n)) -> n
  case (#d (1, (true, 'a')), #d (z, _)) -> z
  case (#d (x, (_, c)), _) -> x + i32.u8 c
  case (#e, #e) -> 0
  case (#g #p, #g #p) -> 1000
  case (#g (#q n), #g _) -> n * 2
  case (_, #a x) -> -x
  case _ -> -1000

-- ==
-- entry: main
-- input {} output { [1i32, 3, 7, 103, 10, 9, 55, 8, 6, 12, 0, 1000, 6, -4, -1000] }
entry main = map2 f
  [#a 1, #a 3, #b 0 7, #b 3 0, #b 1 2, #c {x=9,y=true}, #c {x=5,y=false}, #c {x=1,y=false}, #d (1,(true,97)), #d (2,(false,10)), #e, #g #p, #g (#q 3), #e, #f [1,2]]
  [#a 2, #a 9, #e, #e, #f [3,4], #e, #g #p, #g (#q 8), #d (6,(true,1)), #e, #e, #g #p, #g #p, #a 4, #e]
