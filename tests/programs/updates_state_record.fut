-- A state record threaded through a loop, its arrays updated in place.

type state [n] = {grid: [n]i32, pos: i64}
def step [n] (s: *state [n]) : *state [n] =
  let grid = s.grid with [s.pos] = i32.i64 s.pos
  in {grid, pos = s.pos + 1}

-- ==
-- entry: a
-- input { 4i64 } output { [0i32,1,2,0] 3i64 }
entry a n = let s = loop s : *state [n] = {grid = replicate n 0, pos = 0} for _i < 3i32 do step s in (s.grid, s.pos)

-- ==
-- entry: b
-- input { [[1i32,2],[3i32,4]] } output { [[4i32,3],[2i32,1]] }
entry b [n][m] (xs: *[n][m]i32) =
  let swap (xs: *[n][m]i32) (i, j) (k, l) : *[n][m]i32 = let a = xs[i,j] let b = xs[k,l] let xs[i,j] = b let xs[k,l] = a in xs
  let xs = swap xs (0, 0) (n-1, m-1)
  in swap xs (0, m-1) (n-1, 0)
