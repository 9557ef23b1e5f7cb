type t = []i32
entry main = 1
