module m (X: { val x : i32 }) = { def y = X.x }
entry main = m.y
