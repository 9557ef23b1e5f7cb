type t = #a | #b
def f (x: t) = match x case #c -> 1 case _ -> 2
entry main = 1
