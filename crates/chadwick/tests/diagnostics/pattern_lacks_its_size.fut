def f (xs: []i32) = let [n] ys = xs in n + length ys
