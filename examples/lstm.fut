-- One step of a long short-term memory cell, a loss over a sequence, and its gradient in all parameters.
-- Expected values: JAX.
-- ==
-- entry: loss
-- input { 0.5 0.1 -0.2 [0.5, -0.25, 1.0] [0.1, 0.2, 0.3] }
-- output { 0.03169050392966529 }

-- ==
-- entry: gradient
-- input { 0.5 0.1 -0.2 [0.5, -0.25, 1.0] [0.1, 0.2, 0.3] }
-- output { 0.03129121422164969 -0.2471782789282155 -0.027213130132329157 }

type gate [h][d] = {input: [h][d]f64, recurrent: [h][h]f64, bias: [h]f64}
type cell [h][d] = {forget: gate [h][d], ingate: gate [h][d], outgate: gate [h][d], change: gate [h][d]}
type state [h] = {hidden: [h]f64, memory: [h]f64}

def sigmoid (x: f64): f64 = 1 / (1 + f64.exp (-x))

def matvec [n][m] (a: [n][m]f64) (x: [m]f64): [n]f64 = map (\row -> f64.sum (map2 (*) row x)) a

def run_gate [h][d] (f: f64 -> f64) (g: gate [h][d]) (x: [d]f64) (hidden: [h]f64): [h]f64 =
  map3 (\a b c -> f (a + b + c)) (matvec g.input x) (matvec g.recurrent hidden) g.bias

def step [h][d] (c: cell [h][d]) (s: state [h]) (x: [d]f64): state [h] =
  let forget = run_gate sigmoid c.forget x s.hidden
  let ingate = run_gate sigmoid c.ingate x s.hidden
  let outgate = run_gate sigmoid c.outgate x s.hidden
  let change = run_gate f64.tanh c.change x s.hidden
  let memory = map4 (\f m i u -> f * m + i * u) forget s.memory ingate change
  in {hidden = map2 (\o m -> o * f64.tanh m) outgate memory, memory}

-- | The squared error of the first hidden unit against a target, over a whole sequence.
def sequence_loss [h][d][n] (c: cell [h][d]) (xs: [n][d]f64) (targets: [n]f64): f64 =
  let start: state [h] = {hidden = replicate h 0, memory = replicate h 0}
  let (_, total) = loop (s, total) = (start, 0) for i < n do
    let s = step c s xs[i]
    in (s, total + (s.hidden[0] - targets[i]) ** 2)
  in total

-- A cell with two hidden units and one input whose parameters are made from three numbers.
def small_cell (a: f64) (b: f64) (c: f64): cell [2][1] =
  let gate (k: f64): gate [2][1] =
    {input = [[a * k], [b]], recurrent = [[c, a], [b * k, c]], bias = [k * b, a * c]}
  in {forget = gate 1, ingate = gate (-0.5), outgate = gate 0.7, change = gate 2}

entry loss [n] (a: f64) (b: f64) (c: f64) (xs: [n]f64) (targets: [n]f64): f64 =
  sequence_loss (small_cell a b c) (map (\x -> [x]) xs) targets

entry gradient [n] (a: f64) (b: f64) (c: f64) (xs: [n]f64) (targets: [n]f64): (f64, f64, f64) =
  grad (\(a, b, c) -> loss a b c xs targets) (a, b, c)
