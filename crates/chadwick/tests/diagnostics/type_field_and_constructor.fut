def both = \y -> (y.a, match y case #none -> 1 case _ -> 2)
