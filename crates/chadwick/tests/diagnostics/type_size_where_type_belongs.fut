type box 'a = (a, a)
entry main (x: box [3]) = 1
