-- Functions with hidden result sizes given to functions.
def comp 'a '~b '~c (f: b -> c) (g: a -> b) (x: a) : c = f (g x)
def evens [n] (xs: [n]i32) = filter (\x -> x % 2 == 0) xs

-- ==
-- entry: a
-- input { [1i32,2,3,4] } output { 6i32 2i64 }
entry a (xs: []i32) = (comp i32.sum evens xs, comp length evens xs)

-- ==
-- entry: b
-- input { [1i32,2,3,4] } output { 2i64 6i32 }
entry b (xs: []i32) = ((evens >-> length) xs, xs |> evens |> i32.sum)

-- ==
-- entry: d
-- input { [1i32,2,3,4] } output { [2i32,4] [4i32,2] }
entry d (xs: []i32) = let f = id evens in (f xs, reverse <| evens xs)
