-- Recursive groups and recursive sums.

def rec even (n: i32): bool = n == 0 || odd (n - 1) and odd (n: i32): bool = n != 0 && even (n - 1)
type rec tree 'a = #leaf a | #node (tree a) (tree a)
def sumt (t: tree i32) : i32 = match t case #leaf x -> x case #node l r -> sumt l + sumt r
def build (n: i32) : tree i32 = if n == 0 then #leaf 1 else #node (build (n - 1)) (build (n - 1))

-- ==
-- entry: a
-- input { 5i32 } output { 32i32 false true }
entry a n = (sumt (build n), even n, odd n)

-- ==
-- entry: b
-- input { 5i64 } output { 120i64 }
entry b (n: i64) = let rec go k acc = if k == 0 then acc else go (k - 1) (acc * k) in go n 1
type rec expr = #num f64 | #add expr expr | #mul expr expr | #x
def eval (e: expr) (x: f64) : f64 = match e case #num n -> n case #x -> x case #add a b -> eval a x + eval b x case #mul a b -> eval a x * eval b x

-- ==
-- entry: c
-- input { 3.0 } output { 10.0 6.0 }
entry c x = let e : expr = #add (#mul #x #x) (#num 1) in (eval e x, jvp (eval e) x 1)

-- ==
-- entry: d
-- input {} output { 3i32 7i32 }
entry d = par (1i32 + 2) (3i32 + 4)
