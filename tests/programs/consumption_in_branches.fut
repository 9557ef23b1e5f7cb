-- What one branch changes and the other leaves as it is has only its new name behind them.
-- Expected values: by hand.
-- ==
-- entry: either
-- input { [1.0, 2.0] true } output { 9.0 }
-- input { [1.0, 2.0] false } output { 1.0 }

-- ==
-- entry: matched
-- input { [1i64, 2i64] 0i64 } output { [7i64, 2i64] }
-- input { [1i64, 2i64] 1i64 } output { [1i64, 8i64] }
-- input { [1i64, 2i64] 2i64 } output { [1i64, 2i64] }

-- ==
-- entry: sorted
-- input { [3i64, 1i64, 2i64] } output { [1i64, 2i64, 3i64] 2i64 }

entry either [n] (x: [n]f64) (change: bool): f64 =
  let a = copy x
  let b = if change then a with [0] = 9 else a
  in b[0]

entry matched (x: []i64) (at: i64): []i64 =
  let a = copy x
  let b = match at case 0 -> a with [0] = 7 case 1 -> a with [1] = 8 case _ -> a
  in b with [0] = b[0]

entry sorted [n] (x: [n]i64): ([n]i64, i64) =
  loop (a, swaps) = (copy x, 0) for _round < n do
    loop (a, swaps) for i < n - 1 do
      let (lower, upper) = (a[i], a[i + 1])
      let a = if lower > upper then (a with [i] = upper) with [i + 1] = lower else a
      in (a, swaps + i64.bool (lower > upper))
