-- A higher-order pipeline: layers are functions in an array, chosen at run time, composed by a reduction, and differentiated with
-- respect to the parameters they have captured.
-- Expected values: JAX.
-- ==
-- entry: value
-- input { [2.0, -1.0, 0.5] [0i64, 1, 2] 1.5 } output { 2.761594155955765 }

-- ==
-- entry: gradient
-- input { [2.0, -1.0, 0.5] [0i64, 1, 2] 1.5 } output { [1.8149807562105198, 1.2099871708070131, 0.8399486832280523] 2.4199743416140262 }

type layer = #scale | #shift | #bend

def kind (code: i64): layer = if code == 0 then #scale else if code == 1 then #shift else #bend

-- | The function of a layer with its parameter inside.
def build (l: layer) (p: f64): f64 -> f64 =
  match l
  case #scale -> \x -> p * x
  case #shift -> \x -> x + p
  case #bend -> \x -> f64.tanh (p * x) + x

def pipeline [n] (codes: [n]i64) (params: [n]f64): f64 -> f64 =
  reduce (>->) id (map2 (\c p -> build (kind c) p) codes params)

entry value [n] (params: [n]f64) (codes: [n]i64) (x: f64): f64 = pipeline codes params x

entry gradient [n] (params: [n]f64) (codes: [n]i64) (x: f64): ([n]f64, f64) =
  grad (\(p, x) -> pipeline codes p x) (params, x)
