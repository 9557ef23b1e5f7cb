module m = { local def secret = 1 }
entry main = m.secret
