entry main = 0.5..1.5..<3.5
