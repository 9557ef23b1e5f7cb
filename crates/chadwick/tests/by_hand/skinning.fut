-- Linear-blend skinning: how far blended vertices are from points, and the gradient in the bones' transforms derived by hand.

def dot [n] (a: [n]f64) (b: [n]f64): f64 = f64.sum (map2 (*) a b)

entry objective [v][b] (transforms: [b][3][4]f64) (weights: [v][b]f64) (base: [v][4]f64) (points: [v][3]f64): f64 =
  let blend weights base =
    tabulate 3 (\r -> f64.sum (map2 (\w t -> w * dot t[r] base) weights transforms))
  in f64.sum (map3 (\weights base point -> f64.sum (map2 (\p q -> (p - q) ** 2) (blend weights base) point)) weights base points)

entry by_hand [v][b] (transforms: [b][3][4]f64) (weights: [v][b]f64) (base: [v][4]f64) (points: [v][3]f64) (seed: f64) =
  let blend weights base =
    tabulate 3 (\r -> f64.sum (map2 (\w t -> w * dot t[r] base) weights transforms))
  let residuals = map3 (\weights base point -> map2 (-) (blend weights base) point) weights base points
  let value = f64.sum (map (\r -> dot r r) residuals)
  let scaled = map (map (\r -> let s = seed * r in s + s)) residuals
  let transforms' =
    tabulate_3d b 3 4 (\bone r c -> f64.sum (map (\i -> scaled[i, r] * weights[i, bone] * base[i, c]) (iota v)))
  in (value, transforms')
