entry main (x: u8) = x + 256
