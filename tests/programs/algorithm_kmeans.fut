-- Kmeans.

def dist2 [d] (a: [d]f32) (b: [d]f32) = f32.sum (map2 (\x y -> (x - y) ** 2) a b)
def closest [k][d] (cs: [k][d]f32) (p: [d]f32) : i32 =
  (reduce_comm (\(a, i) (b, j) -> if a < b || (a == b && i < j) then (a, i) else (b, j)) (f32.inf, -1i32) (zip (map (dist2 p) cs) (map i32.i64 (iota k)))).1
def centroids [n][d] (k: i64) (ps: [n][d]f32) (ms: [n]i32) : [k][d]f32 =
  let sizes = reduce_by_index (replicate k 0) (+) 0 (map i64.i32 ms) (replicate n 1i32)
  let sums = reduce_by_index (replicate k (replicate d 0)) (map2 (+)) (replicate d 0) (map i64.i32 ms) ps
  in map2 (\s c -> map (/ f32.i32 (i32.max 1 c)) s) sums sizes

-- ==
-- entry: main
-- input { 2i64 3i32 [[0f32],[1f32],[10f32],[11f32]] } output { [[0.5f32],[10.5f32]] [0i32,0,1,1] }
entry main [n][d] (k: i64) (it: i32) (ps: [n][d]f32) =
  let cs = loop cs = take k ps for _i < it do centroids k ps (map (closest cs) ps)
  in (cs, map (closest cs) ps)
