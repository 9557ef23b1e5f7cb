entry main = f64
