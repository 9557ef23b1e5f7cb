module m : { type t val x : t } = { type t = i32 def x = 1i32 }
entry main = m.x + 1i32
