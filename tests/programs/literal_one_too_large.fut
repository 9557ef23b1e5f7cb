-- The lowest integer is written as the negative of a literal that is too large without its sign.
-- ==
-- error: literal 128 is out of bounds for i8

def lowest: i8 = -128
entry main (x: i8) = x + lowest + 128
