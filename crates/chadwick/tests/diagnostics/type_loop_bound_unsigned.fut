entry main (n: u32) = loop x = 0 for i < n do x + 1
