entry main = "a\qb"
