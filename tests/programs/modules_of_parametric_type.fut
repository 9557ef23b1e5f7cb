-- Module types of parametric modules that have a name.
-- ==
-- input { 4i32 } output { 24i32 30i32 }

module type has_number = { val n: i32 }
module type family = (x: has_number) -> { val k: i32 }
module type same_family = family

module at_two (g: family) = { module a = g { def n = 2i32 } def v = a.k }
module at_three (g: same_family) = { module a = g { def n = 3i32 } def v = a.k }

module tenfold: family = \(x: has_number) -> { def k = x.n * 10 }
module of_lambda = at_two (\(x: has_number) -> { def k = x.n * 10 })
module of_name = at_three tenfold

entry main (x: i32) = (of_lambda.v + x, of_name.v)
