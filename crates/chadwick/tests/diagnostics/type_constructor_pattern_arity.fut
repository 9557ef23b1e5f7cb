type t = #a i32 i32
def f (x: t) = match x case #a y -> y
entry main = 1
