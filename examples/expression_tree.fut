-- A function over a recursive type: an expression tree is evaluated at a point and differentiated, both in the variable and in
-- every constant that stands in the tree. The tree here is c1 * x^2 + sin (c2 * x).
-- Expected values: JAX.
-- ==
-- entry: value
-- input { 2.0 3.0 0.5 } output { 1.4974949866040546 }

-- ==
-- entry: gradient
-- input { 2.0 3.0 0.5 } output { 2.212211605003109 0.25 0.03536860083385145 }

-- ==
-- entry: second_derivative
-- input { 2.0 3.0 0.5 } output { -4.97745487943649 }

type rec expression =
    #variable
  | #constant f64
  | #plus expression expression
  | #times expression expression
  | #sine expression

def evaluate (x: f64) (e: expression): f64 =
  match e
  case #variable -> x
  case #constant c -> c
  case #plus a b -> evaluate x a + evaluate x b
  case #times a b -> evaluate x a * evaluate x b
  case #sine a -> f64.sin (evaluate x a)

def tree (c1: f64) (c2: f64): expression =
  #plus (#times (#constant c1) (#times #variable #variable)) (#sine (#times (#constant c2) #variable))

entry value (c1: f64) (c2: f64) (x: f64): f64 = evaluate x (tree c1 c2)

-- | In x, c1 and c2; the whole tree is an input of the derivative.
entry gradient (c1: f64) (c2: f64) (x: f64): (f64, f64, f64) =
  let (dx, dtree) = vjp (\(x, e) -> evaluate x e) (x, tree c1 c2) 1
  in match dtree
     case #plus (#times (#constant d1) _) (#sine (#times (#constant d2) _)) -> (dx, d1, d2)
     case _ -> (dx, f64.nan, f64.nan)

entry second_derivative (c1: f64) (c2: f64) (x: f64): f64 =
  let first y = grad (\z -> evaluate z (tree c1 c2)) y
  in jvp first x 1
