-- A derivative through a long chain of calls: what it flows through is found in one look at each function.

-- ==
-- entry: gradient
-- input { 0.5 } output { 1.0 }
def f0 (x: f64): f64 = x
def f1 (x: f64): f64 = f0 x
def f2 (x: f64): f64 = f1 x
def f3 (x: f64): f64 = f2 x
def f4 (x: f64): f64 = f3 x
def f5 (x: f64): f64 = f4 x
def f6 (x: f64): f64 = f5 x
def f7 (x: f64): f64 = f6 x
def f8 (x: f64): f64 = f7 x
def f9 (x: f64): f64 = f8 x
def f10 (x: f64): f64 = f9 x
def f11 (x: f64): f64 = f10 x
def f12 (x: f64): f64 = f11 x
def f13 (x: f64): f64 = f12 x
def f14 (x: f64): f64 = f13 x
def f15 (x: f64): f64 = f14 x
def f16 (x: f64): f64 = f15 x
def f17 (x: f64): f64 = f16 x
def f18 (x: f64): f64 = f17 x
def f19 (x: f64): f64 = f18 x
def f20 (x: f64): f64 = f19 x
def f21 (x: f64): f64 = f20 x
def f22 (x: f64): f64 = f21 x
def f23 (x: f64): f64 = f22 x
def f24 (x: f64): f64 = f23 x
def f25 (x: f64): f64 = f24 x
def f26 (x: f64): f64 = f25 x
def f27 (x: f64): f64 = f26 x
def f28 (x: f64): f64 = f27 x
def f29 (x: f64): f64 = f28 x
def f30 (x: f64): f64 = f29 x
def f31 (x: f64): f64 = f30 x
def f32 (x: f64): f64 = f31 x
def f33 (x: f64): f64 = f32 x
def f34 (x: f64): f64 = f33 x
def f35 (x: f64): f64 = f34 x
def f36 (x: f64): f64 = f35 x
def f37 (x: f64): f64 = f36 x
def f38 (x: f64): f64 = f37 x
def f39 (x: f64): f64 = f38 x
def f40 (x: f64): f64 = f39 x
entry gradient (x: f64) = vjp f40 x 1
