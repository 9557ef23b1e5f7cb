-- Strings as arrays of bytes.

def words [n] (s: [n]u8) : [](i64, i64) =
  let sp c = c == ' '
  let starts = filter (\i -> !(sp s[i]) && (i == 0 || sp s[i-1])) (iota n)
  let ends = filter (\i -> !(sp s[i]) && (i == n - 1 || sp s[i+1])) (iota n)
  in zip starts (map (+ 1) ends :> [length starts]i64)

-- ==
-- entry: a
-- input { "foo bar  x" } output { [0i64,4,9] [3i64,7,10] }
entry a (s: []u8) = unzip (words s)
def parse [n] (s: [n]u8) : i64 = loop acc = 0 for c in s do acc * 10 + i64.u8 (c - '0')

-- ==
-- entry: b
-- input { "1234" } output { 1234i64 }
entry b (s: []u8) = parse s

-- ==
-- entry: c
-- input {} output { "hello, world" true }
entry c = ("hello, " ++ "world", "abc" == "abc")

-- ==
-- entry: d
-- input { "aXbX" } output { "abxx" }
entry d s = let lower c = if c >= 'A' && c <= 'Z' then c + ('a' - 'A') else c let t : []u8 = map lower s in [t[0], t[2], t[1], t[3]]
