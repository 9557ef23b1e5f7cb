-- Both are errors of their own.
type shape = #circle f64 | #square f64

def wrong (x: i32) = x + true

def area (s: shape) =
  match s
  case #circle r -> 3.14 * r * r
