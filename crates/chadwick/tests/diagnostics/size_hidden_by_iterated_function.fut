def thin (xs: []i32) = iterate 3 (filter (> 0)) xs
