-- A long short-term memory network whose gates have diagonal weights, predicting the next element of a sequence.
-- Expected values: with all parameters 0 every prediction is 0, and its normal form -log (b + 2); only the bias of the output matters.
-- ==
-- entry: objective
-- input { [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]] [[0.0], [0.0], [0.0]] [[0.0], [0.0]] [[1.0], [2.0], [3.0]] }
-- output { 2.7465307216702745 }

-- ==
-- entry: jacobian
-- input { [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]] [[0.0], [0.0], [0.0]] [[0.0], [0.0]] [[1.0], [2.0], [3.0]] }
-- output { [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.6666666666666667] }

def sigmoid (x: f64): f64 = 1 / (1 + f64.exp (-x))

-- | One layer on one component. Weights and biases are those of the gates that forget, let in, let out, and change.
def cell (w: [4]f64) (b: [4]f64) (hidden: f64) (memory: f64) (x: f64): (f64, f64) =
  let forget = sigmoid (x * w[0] + b[0])
  let ingate = sigmoid (hidden * w[1] + b[1])
  let outgate = sigmoid (x * w[2] + b[2])
  let change = f64.tanh (hidden * w[3] + b[3])
  let memory = memory * forget + ingate * change
  in (outgate * f64.tanh memory, memory)

def loss [l][b][c] (parameters: [l][2][4][b]f64) (extra: [3][b]f64) (state: [l][2][b]f64) (sequence: [c][b]f64): f64 =
  let of_step state x =
    loop (state, x) = (copy state, map2 (*) x extra[0]) for i < l do
      let gates k j = [parameters[i, k, 0, j], parameters[i, k, 1, j], parameters[i, k, 2, j], parameters[i, k, 3, j]]
      let (hidden, memory) =
        unzip (tabulate b (\j -> cell (gates 0 j) (gates 1 j) state[i, 0, j] state[i, 1, j] x[j]))
      in (state with [i] = [hidden, memory], hidden)
  let (_, total) = loop (state, total) = (state, 0) for t < c - 1 do
    let (state, hidden) = of_step state sequence[t]
    let y = map3 (\h scale bias -> h * scale + bias) hidden extra[1] extra[2]
    let normal = f64.log (f64.sum (map f64.exp y) + 2)
    in (state, total + f64.sum (map2 (\next y -> next * (y - normal)) sequence[t + 1] y))
  in -total / f64.i64 (b * (c - 1))

def layers [l2][b4] 't (l: i64) (b: i64) (a: [l2][b4]t): [l][2][4][b]t =
  let rows = unflatten (a :> [l * 2][b4]t)
  in map (map (\row -> unflatten (row :> [4 * b]t))) rows

entry objective [l2][b4][b][c]
    (main_params: [l2][b4]f64) (extra_params: [3][b]f64) (state: [l2][b]f64) (sequence: [c][b]f64): f64 =
  let l = l2 / 2
  in loss (layers l b main_params) extra_params (unflatten (state :> [l * 2][b]f64)) sequence

entry jacobian [l2][b4][b][c]
    (main_params: [l2][b4]f64) (extra_params: [3][b]f64) (state: [l2][b]f64) (sequence: [c][b]f64): []f64 =
  let (main, extra) = grad (\(main, extra) -> objective main extra state sequence) (main_params, extra_params)
  in flatten main ++ flatten extra
