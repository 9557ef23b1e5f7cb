def rows (xss: [][]i32) = map (filter (> 0)) xss

def triangle (ns: []i64) = map (\n -> iota n) ns
