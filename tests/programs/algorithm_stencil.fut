-- Stencil.

def blur [n][m] (img: [n][m]f32) : [n][m]f32 =
  tabulate_2d n m (\i j ->
    let at di dj = #[unsafe] img[i64.max 0 (i64.min (n-1) (i + di)), i64.max 0 (i64.min (m-1) (j + dj))]
    in (at 0 0 + at 1 0 + at (-1) 0 + at 0 1 + at 0 (-1)) / 5)

-- ==
-- entry: main
-- input { [[5f32,0],[0f32,0]] } output { [[3f32,1],[1f32,0]] }
entry main = blur
def heat [n] (u: [n]f64) : [n]f64 = map (\i -> if i == 0 || i == n-1 then u[i] else 0.25*u[i-1] + 0.5*u[i] + 0.25*u[i+1]) (indices u)

-- ==
-- entry: h
-- input { [0.0,4.0,0.0] } output { [0.0,2.0,0.0] }
entry h xs = heat xs
