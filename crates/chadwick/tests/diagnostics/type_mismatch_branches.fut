entry main (b: bool) = if b then 1 else [1]
