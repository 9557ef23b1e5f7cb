-- Bfs.

type graph [v][e] = {offs: [v]i64, deg: [v]i64, edges: [e]i64}
def bfs [v][e] (g: graph [v][e]) (s: i64) : [v]i32 =
  let (dist, _, _) =
    loop (dist, front, d) = (replicate v (-1i32) with [s] = 0, [s], 1i32) while !(null front) do
      let (_, _, _, nbrs) = flatmap' (\x -> g.edges[g.offs[x]:g.offs[x]+g.deg[x]]) front
      let new = filter (\x -> dist[x] < 0) nbrs
      let dist = scatter dist new (map (const d) new)
      in (dist, new, d + 1)
  in dist

-- ==
-- entry: main
-- input { [0i64,2,3,4] [2i64,1,1,0] [1i64,2,3,3] 0i64 } output { [0i32,1,1,2] }
entry main [v][e] (offs: [v]i64) (deg: [v]i64) (edges: [e]i64) (s: i64) = bfs {offs, deg, edges} s
