-- A match one of whose arms gives the matched value itself: its cotangent has a part from the payload and one from the whole.
-- Expected values: the interpreter's own differentiation.
-- ==
-- entry: gradient
-- input { [0.7, 0.2] true }
-- output { [0.9648421872844886, 0.7] }
-- input { [0.7, -0.2] true }
-- output { [-0.0351578127155115, 2.8] }
-- input { [0.7, 0.2] false }
-- output { [5.04, 1.47] }

type t [n] = #a ([n]f64) | #b ([n]f64) ([n]f64)

def value [n] (c: bool) (x: [n]f64): f64 =
  let v: t [n] = if c then #a x else #b x (map (* 3) x)
  let w: t [n] =
    match v
    case #a p -> if p[1] > 0 then v else #a (map (* 2) p)
    case #b y z -> #b (map2 (*) y z) y
  let last = match v
             case #a p -> f64.sin p[0]
             case #b p q -> p[0] * q[0]
  in last + match w
            case #a p -> p[0] * p[1]
            case #b p q -> p[0] * q[1]

entry gradient [n] (x: [n]f64) (c: bool): [n]f64 = grad (value c) x
