module m (X: { type t val x : t }) = { def y = X.x + 1i32 }
entry main = 1
