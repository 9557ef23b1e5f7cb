entry main: i8 = -129
