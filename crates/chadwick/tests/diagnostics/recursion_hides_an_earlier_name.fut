type vec = {x: f64, y: f64}
def (a: vec) * (s: f64) : vec = {x = a.x * s, y = a.y}
entry main (x: i32) = x
