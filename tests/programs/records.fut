-- Record literals, updates, patterns.

type point = {x: f64, y: f64}
def add (a: point) (b: point) : point = {x = a.x + b.x, y = a.y + b.y}

-- ==
-- entry: a
-- input {} output { 4.0 6.0 }
entry a = let p = add {x=1,y=2} {x=3,y=4} in (p.x, p.y)

-- ==
-- entry: b
-- input {} output { 7.0 2.0 }
entry b = let p : point = {x=1,y=2} let q = p with x = 7 in (q.x, q.y)

-- ==
-- entry: c
-- input {} output { 1i32 9i32 3i32 }
entry c = let r = {a = {b = 1i32, c = 2i32}, d = 3i32} let r' = r with a.c = 9 in (r'.a.b, r'.a.c, r'.d)

-- ==
-- entry: d
-- input {} output { 3.0 }
entry d = let x = 1.0 let y = 2.0 let {x, y = z} = {x, y} in x + z

-- ==
-- entry: e
-- input {} output { [4.0, 5.0] [1.0,2.0] }
entry e = unzip (map (\{a, b} -> (a, b)) [{a=4.0,b=1.0},{b=2.0,a=5.0}])

-- ==
-- entry: f
-- input {} output { 3i32 }
entry f = let {0 = a, 1 = b} = (1i32, 2i32) in a + b
def g ({x, y}: point) = x * y

-- ==
-- entry: h
-- input {} output { 6.0 }
entry h = g {x=2,y=3}

-- ==
-- entry: i
-- input {} output { 1i32 8i32 }
entry i = let t = (1i32, 2i32) let t = t with 1 = 8 in t
