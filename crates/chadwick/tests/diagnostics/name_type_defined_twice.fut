type t = i32
type t = f64
entry main = 1
