-- Irregular values through sums, records and hidden sizes.

type~ bag = {items: []i32, tag: i32}
def mk (n: i64) : bag = {items = map i32.i64 (iota n), tag = i32.i64 n}
def merge (a: bag) (b: bag) : bag = {items = a.items ++ b.items, tag = a.tag + b.tag}

-- ==
-- entry: a
-- input {} output { [0i32,1,0,1,2] 5i32 }
entry a = let b = merge (mk 2) (mk 3) in (b.items, b.tag)

-- ==
-- entry: b
-- input { 3i64 } output { [0i32,0,1,3] }
entry b n = map (\i -> let b = mk i in i32.sum b.items) (iota (n + 1))

-- ==
-- entry: c
-- input { 3i64 } output { 6i32 [0i32,0,1,0] }
entry c n = let b = loop b = mk 0 for i < n + 1 do merge b (mk i) in (b.tag, take 4 b.items)
type~ tok = #word ([]u8) | #num i64 | #eof
def next [n] (s: [n]u8) : tok = if n == 0 then #eof else if s[0] >= '0' && s[0] <= '9' then #num (loop acc = 0 for c in s do acc * 10 + i64.u8 (c - '0')) else #word s
def size (t: tok) : i64 = match t case #word w -> length w case #num n -> n case #eof -> -1

-- ==
-- entry: d
-- input { "foo" "12" "" } output { 3i64 12i64 -1i64 }
entry d (a: []u8) (b: []u8) (c: []u8) = (size (next a), size (next b), size (next c))
