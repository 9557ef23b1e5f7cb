type~ vector = []f64

type pair = (vector, vector)
