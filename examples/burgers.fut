-- Burgers' equation u_t + u u_x = v u_xx on a line with ends held at zero, in implicit steps: each solves a system of equations by
-- Newton's method. An equation has an unknown and its two neighbours in it, so the Jacobian has three diagonals. `jacobian_sparse`
-- finds that out and needs three tangents for it, however many points there are.
--
-- Expected values: the system for two points by hand, and the same steps in Python with a dense solver.
-- ==
-- entry: jacobian
-- input { 0.5 0.25 [1.0, 2.0] [1.0, 2.0] }
-- output { [0i64, 2i64, 4i64] [0i64, 1i64, 0i64, 1i64] [4.75, -0.375, -2.625, 2.5] }

-- ==
-- entry: simulate
-- input { 0.05 0.01 3i64 [0.2, 0.8, 1.0, 0.6, 0.1] }
-- output { [0.164985320080, 0.567676564581, 0.916545823940, 0.855619828205, 0.177713107553] }

-- The residual of a step is zero.
-- ==
-- entry: is_solved
-- input { 1i64 } output { true }
-- input { 10i64 } output { true }
-- input { 1000i64 } output { true }

-- | What an implicit Euler step from `before` to `u` leaves over: `k` is the time step, `v` the viscosity.
def residual [n] (k: f64) (v: f64) (before: [n]f64) (u: [n]f64): [n]f64 =
  let h = 1 / f64.i64 (n + 1)
  let at i = if i < 0 || i >= n then 0 else u[i]
  let rate i = v * (at (i + 1) - 2 * at i + at (i - 1)) / (h * h) - at i * (at (i + 1) - at (i - 1)) / (2 * h)
  in tabulate n (\i -> u[i] - before[i] - k * rate i)

-- | The Jacobian of the residual in the new state.
entry jacobian [n] (k: f64) (v: f64) (before: [n]f64) (u: [n]f64): ([]i64, []i64, []f64) =
  jacobian_sparse (residual k v before) u

-- | The entries of a sparse matrix `d` places to the right of the diagonal.
def diagonal [n][e] (d: i64) (offsets: [n + 1]i64) (columns: [e]i64) (values: [e]f64): [n]f64 =
  tabulate n (\i -> f64.sum (map (\at -> if columns[at] == i + d then values[at] else 0) (offsets[i]..<offsets[i + 1])))

-- | Solves a system with three diagonals by elimination.
def solve [n] (lower: [n]f64) (middle: [n]f64) (upper: [n]f64) (right: [n]f64): [n]f64 =
  let (_, _, upper, right) =
    loop (ratio, last, us, rs) = (0, 0, replicate n 0, replicate n 0) for i < n do
      let pivot = middle[i] - lower[i] * ratio
      let (ratio, last) = (upper[i] / pivot, (right[i] - lower[i] * last) / pivot)
      in (ratio, last, us with [i] = ratio, rs with [i] = last)
  let (_, x) =
    loop (next, x) = (0, replicate n 0) for j < n do
      let i = n - 1 - j
      let next = right[i] - upper[i] * next
      in (next, x with [i] = next)
  in x

-- | One step, with a few iterations of Newton's method.
def step [n] (k: f64) (v: f64) (before: [n]f64): [n]f64 =
  loop u = before for _i < 6 do
    let (offsets, columns, values) = jacobian_sparse (residual k v before) u
    let d place = diagonal place offsets columns values
    in map2 (-) u (solve (d (-1)) (d 0) (d 1) (residual k v before u))

entry simulate [n] (k: f64) (v: f64) (steps: i64) (u: [n]f64): [n]f64 = loop u for _i < steps do step k v u

entry is_solved (n: i64): bool =
  let before = tabulate n (\i -> f64.sin (f64.pi * f64.i64 (i + 1) / f64.i64 (n + 1)))
  in all (\r -> f64.abs r < 1e-9) (residual 0.01 0.05 before (step 0.01 0.05 before))
