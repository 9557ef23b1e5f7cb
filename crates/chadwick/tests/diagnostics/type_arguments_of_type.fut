type pair 'a 'b = (a, b)
entry main (x: pair i32) = x.0
