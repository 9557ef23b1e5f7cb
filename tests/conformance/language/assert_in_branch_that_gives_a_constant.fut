-- A branch that is always true still fails where it asserts something.
-- ==
-- entry: of_else of_then
-- input { 1i64 } output { 1i64 }
-- input { 0i64 } error: assertion

entry of_else (x: i64): i64 =
  let holds = if x > 0 then true else assert (x > 1) true
  in if holds then x else 7

entry of_then (x: i64): i64 =
  let holds = if x < 1 then assert (x > 1) false else x < 1
  in if holds then 7 else x
