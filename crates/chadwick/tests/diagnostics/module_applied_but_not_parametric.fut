module m = { def x = 1 }
module n = m { }
entry main = 1
