entry main (x: bool) = if x 1 else 2
