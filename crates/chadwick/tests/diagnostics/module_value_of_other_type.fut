module m : { val x : i32 } = { def x = 1.5f64 }
entry main = 1
