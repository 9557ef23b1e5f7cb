entry main (x: bool) (y: bool) = match (x, y) case (true, _) -> 1 case (_, false) -> 2
