module type m = { type t = i32 }

module n: m with t = f32 = { type t = f32 }
