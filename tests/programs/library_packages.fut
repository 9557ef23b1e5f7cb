-- The library packages that ship with the compiler.
import "lib/github.com/diku-dk/linalg/linalg"
import "lib/github.com/athas/vector/vspace"
import "lib/github.com/diku-dk/autodiff/onehot"
module la = mk_linalg f64
module v3 = mk_vspace_3d f64
module v2 = mk_vspace_2d f32

-- ==
-- entry: a
-- input {} output { [[2.0f64, 1.0f64], [4.0f64, 3.0f64]] }

entry a = la.matmul [[1, 2], [3, 4]] [[0, 1], [1, 0]]

-- ==
-- entry: b
-- input {} output { [[-1.5f64, 1.0f64], [0.5f64, 0.0f64]] }

entry b = la.inv [[0, 2], [1, 3]]

-- ==
-- entry: c
-- input {} output { 2.0f64 }

entry c = v3.(dot (cross {x = 1, y = 0, z = 0} {x = 0, y = 1, z = 0}) {x = 0, y = 0, z = 2})

-- ==
-- entry: d
-- input {} output { 4.0f64 6.0f64 8.0f64 }

entry d = v3.(scale 2 ({x = 1, y = 2, z = 3} + one))

-- ==
-- entry: e
-- input {} output { [[1.0f64, 0.0f64, 0.0f64], [0.0f64, 0.0f64, 0.0f64], [0.0f64, 1.0f64, 0.0f64], [0.0f64, 0.0f64, 0.0f64], [0.0f64, 0.0f64, 1.0f64], [0.0f64, 0.0f64, 0.0f64]] [[0.0f32, 0.0f32, 0.0f32], [1.0f32, 0.0f32, 0.0f32], [0.0f32, 0.0f32, 0.0f32], [0.0f32, 1.0f32, 0.0f32], [0.0f32, 0.0f32, 0.0f32], [0.0f32, 0.0f32, 1.0f32]] }

entry e = onehots (onehot.(arr (pair f64 f32))) : [][3](f64, f32)

-- ==
-- entry: f
-- input {} output { 25.0f32 }

entry f = v2.quadrance {x = 3, y = 4}

-- ==
-- entry: g
-- input {} output { [[1.0f64, 0.0f64, 0.0f64], [0.0f64, 0.5403023058681398f64, 0.0f64], [0.0f64, 0.0f64, -0.4161468365471424f64]] }

entry g = grad (onehot.(arr f64)) (map f64.sin) [0, 1, 2]

-- ==
-- entry: h
-- input {} output { [[-0.25f64, 0.0f64], [0.0f64, 0.0f64]] }

entry h = jvp (\m -> la.inv m) [[2, 0], [0, 4]] [[1, 0], [0, 0]]
