module type m = { type t [n] }

module n: m = { type t 'a = a }
