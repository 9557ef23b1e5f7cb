-- Layers that share a matrix, for each of some samples: each use adds its part to the matrix' derivative, once.
-- For one by one matrices: w⁴ (1 - x²)⁴, with 4 w³ (1 - x²)⁴ and -8 x w⁴ (1 - x²)³; and 2 w² x, with 4 w x and 2 w².
-- ==
-- entry: distances
-- input { [[2.0]] [[1.0]] } output { [[432.0]] [[324.0]] }
-- input { [[2.0], [0.0]] [[1.0]] } output { [[432.0], [0.0]] [[328.0]] }

-- ==
-- entry: gradient_inside
-- input { [[1.0]] [[1.0]] } output { [[2.0]] [[4.0]] }
-- input { [[1.0, 2.0]] [[1.0, 3.0], [2.0, 0.0]] } output { [[16.0, 24.0]] [[22.0, 30.0], [8.0, 12.0]] }

entry distances [n][h] (x: [n][h]f64) (w: [h][h]f64) =
  let f (x: [n][h]f64) (w: [h][h]f64) =
    f64.sum (map (\x ->
      let y = map (\v -> v * v) x
      let z = map (\r -> f64.sum (map2 (*) r y)) (transpose w)
      in f64.sum (map (\r -> f64.sum (map2 (\p q -> (p - q) ** 2) r z) ** 2) w)) x)
  in grad (\(x, w) -> f x w) (x, w)

entry gradient_inside [n][d][h] (x: [n][d]f64) (w: [h][d]f64) =
  let f (x: [n][d]f64) (w: [h][d]f64) =
    f64.sum (map (\x -> f64.sum (grad (\x -> f64.sum (map (\c -> f64.sum (map2 (*) x c) ** 2) w)) x)) x)
  in grad (\(x, w) -> f x w) (x, w)
