-- The order of `open`, `local`, nested modules.

module a = { def x = 1i32 def y = 2i32 type t = i32 }
module b = { def x = 10i32 }
open a
open b

-- ==
-- entry: m1
-- input {} output { 12i32 }
entry m1 : t = x + y
local open { def x = 7i32 local def hidden = 3i32 def shown = hidden + 1 }

-- ==
-- entry: m2
-- input {} output { 11i32 }
entry m2 = x + shown
module c = { open a def x = x + 100 module d = { def z = x + y } }

-- ==
-- entry: m3
-- input {} output { 101i32 103i32 2i32 }
entry m3 = (c.x, c.d.z, c.y)
module e = c.d

-- ==
-- entry: m4
-- input {} output { 103i32 }
entry m4 = e.z
def f (x: i32) = let c = {x = x, y = 5i32} in c.x + c.y

-- ==
-- entry: m5
-- input {} output { 8i32 }
entry m5 = f 3
module g = {module h = {def k = 3i32 def (+) (a: i32) (b: i32) = a i32.- b}}

-- ==
-- entry: m6
-- input {} output { 2i32 }
entry m6 = g.h.(k + 1)
