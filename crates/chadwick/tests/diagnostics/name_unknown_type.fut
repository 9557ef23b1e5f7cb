entry main (x: f63) = x
