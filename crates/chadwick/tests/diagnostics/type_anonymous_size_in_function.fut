type^ reducer = []f64 -> f64
