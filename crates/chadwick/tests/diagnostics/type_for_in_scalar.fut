entry main (n: i64) = loop x = 0 for y in n do x + y
