entry main (_x: i32) = _x
