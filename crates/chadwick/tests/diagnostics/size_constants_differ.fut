def f (a: [3]i32) = a[0]
entry main = f [1, 2]
