import "no/such/file"
entry main = 1
