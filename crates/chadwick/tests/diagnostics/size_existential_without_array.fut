def f (x: i32): ?[n].bool = x > 0
