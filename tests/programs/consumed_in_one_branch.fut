-- What one branch consumes and another passes on, by whatever name, is the result's alone.
-- ==
-- entry: by_another_name
-- input { [5.0, 6.0, 7.0] 9i64 } output { [5.0, 3.0, 7.0] }
-- input { [5.0, 6.0, 7.0] 0i64 } output { [1.0, 3.0, 7.0] }

entry by_another_name [n] (xs: [n]f64) (i: i64): [n]f64 =
  let ys = copy xs
  let ys = if i > 1 then (let zs = if i > 7 then ys else ys in zs) else (let zs = if i > 8 then ys else ys in zs with [0] = 1)
  in ys with [1] = 3
