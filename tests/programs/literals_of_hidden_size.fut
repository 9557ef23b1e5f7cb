-- Array literals that are given a type which hides their size.
-- ==
-- entry: ascribed coerced named returned returned_annotated
-- input { 7i32 } output { [7i32] }

-- ==
-- entry: paired
-- input { 7i32 } output { [7i32] 3i32 }

-- ==
-- entry: measured
-- input { 7i32 } output { 1i64 7i32 3i64 }

-- ==
-- entry: chosen
-- input { 7i32 } output { [7i32] }
-- input { 0i32 } output { [0i32, 0i32] }

-- ==
-- entry: scanned
-- input { [3i32, 4i32] } output { 2i64 }

type~ t = []i32

def length_of (a: t): i64 = length a
def make (y: i32): t = ([y, y, y] : t)
def cat (a: t) (b: t): t = a ++ b

entry ascribed (x: i32) = ([x] : t)
entry coerced (x: i32) = ([x] :> t)
entry named (x: i32) = let a = ([x] : t) in a
entry returned (x: i32) = (\y -> [y] : t) x
entry returned_annotated (x: i32) = (\y : t -> [y]) x
entry paired (x: i32) = (([x] : t), 3i32)
entry measured (x: i32) = (length_of ([x] : t), i32.sum ([x] : t), length_of (make x))
entry chosen (x: i32): t = if x > 0 then [x] : t else [x, x] : t
entry scanned (xs: []i32): i64 = length (reduce cat ([] : t) (map (\x -> [x] : t) xs))
