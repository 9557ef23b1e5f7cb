module m : { val x : i32 } = { def y = 1i32 }
entry main = 1
