module m : monoid = { }
entry main = 1
