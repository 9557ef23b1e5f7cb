-- A long short-term memory cell over a sequence: half the squared error of the hidden states, and its gradient in the weights. Gates in
-- the order forget, input, output, change.
-- Expected values: with all weights zero the memory stays zero, so the error is that of the targets.
-- ==
-- entry: primal
-- input { [[0.0], [0.0], [0.0], [0.0]] [[0.0], [0.0], [0.0], [0.0]] [0.0, 0.0, 0.0, 0.0] [[1.0], [2.0]] [[1.0], [2.0]] } output { 2.5 }

-- ==
-- entry: gradient
-- input { [[0.0], [0.0], [0.0], [0.0]] [[0.0], [0.0], [0.0], [0.0]] [0.0, 0.0, 0.0, 0.0] [[1.0], [2.0]] [[1.0], [2.0]] }
-- output { [[0.0], [0.0], [0.0], [-1.5]] [[0.0], [0.0], [0.0], [0.0]] [0.0, 0.0, 0.0, -1.0] }

def sigmoid (x: f64): f64 = 1 / (1 + f64.exp (-x))

def dot [n] (a: [n]f64) (b: [n]f64): f64 = f64.sum (map2 (*) a b)

def loss [t][d][h][g] (wx: [g][d]f64) (wh: [g][h]f64) (b: [g]f64) (x: [t][d]f64) (targets: [t][h]f64): f64 =
  let step hidden memory x =
    let z = map3 (\row_x row_h b -> b + dot row_x x + dot row_h hidden) wx wh b
    let memory = tabulate h (\j -> sigmoid z[j] * memory[j] + sigmoid z[h + j] * f64.tanh z[3 * h + j])
    let hidden = tabulate h (\j -> sigmoid z[2 * h + j] * f64.tanh memory[j])
    in (hidden, memory)
  let (_, _, total) =
    loop (hidden, memory, total) = (replicate h 0, replicate h 0, 0) for i < t do
      let (hidden, memory) = step hidden memory x[i]
      in (hidden, memory, total + f64.sum (map2 (\a b -> (a - b) * (a - b)) hidden targets[i]))
  in 0.5 * total

entry primal [t][d][h][g] (wx: [g][d]f64) (wh: [g][h]f64) (b: [g]f64) (x: [t][d]f64) (targets: [t][h]f64): f64 =
  loss wx wh b x targets

entry gradient [t][d][h][g] (wx: [g][d]f64) (wh: [g][h]f64) (b: [g]f64) (x: [t][d]f64) (targets: [t][h]f64) =
  grad (\(wx, wh, b) -> loss wx wh b x targets) (wx, wh, b)
