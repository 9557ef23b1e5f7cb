entry main (x: []u8) = match x case "a" -> 1 case _ -> 2
