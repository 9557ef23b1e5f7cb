-- Types behind the fields of a record pattern.
-- ==
-- input { 3i32 true } output { 3i32 4i32 }
-- input { 3i32 false } output { 0i32 4i32 }

def f {a: i32, b: bool} = if b then a else 0

entry main (a: i32) (b: bool) =
  let {a: i32, b = _: bool} = {a, b}
  let g = \{a: i32, b} -> a + b
  in (f {a, b}, g {a, b = 1})
