module m : { type t } = { def y = 1i32 }
entry main = 1
