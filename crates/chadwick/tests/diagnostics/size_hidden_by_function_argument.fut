def apply [n] 'a (f: [n]a -> [n]a) (xs: [n]a): [n]a = f xs

def positive (xs: []i32) = apply (filter (> 0)) xs
