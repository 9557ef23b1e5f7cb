entry main = loop x = 1i32 for _i < 3i32 do true
