-- Nbody.

module vec3 (F: real) = {
  type vec = {x: F.t, y: F.t, z: F.t}
  def map f (v: vec) = {x = f v.x, y = f v.y, z = f v.z}
  def map2 f (a: vec) (b: vec) : vec = {x = f a.x b.x, y = f a.y b.y, z = f a.z b.z}
  def (+) = map2 (F.+)
  def (-) = map2 (F.-)
  def scale (k: F.t) = map (F.* k)
  def dot (a: vec) (b: vec) = F.(a.x * b.x + a.y * b.y + a.z * b.z)
  def zero : vec = {x = F.i32 0, y = F.i32 0, z = F.i32 0}
}
module v = vec3 f64
type body = {pos: v.vec, mass: f64, vel: v.vec}
def accel (eps: f64) (a: body) (b: body) : v.vec =
  let r = b.pos v.- a.pos
  let d2 = v.dot r r + eps * eps
  let inv = 1 / f64.sqrt (d2 * d2 * d2)
  in v.scale (b.mass * inv) r
def step [n] (eps: f64) (dt: f64) (bs: [n]body) : [n]body =
  map (\b -> let a = reduce (v.+) v.zero (map (accel eps b) bs)
             let vel = v.(b.vel + scale dt a)
             in {pos = v.(b.pos + scale dt vel), mass = b.mass, vel}) bs

-- ==
-- entry: main
-- input { 1i32 [0.0,1.0] [1.0,1.0] } output { [0.01, 0.99] [0.1,-0.1] }
entry main [n] (k: i32) (xs: [n]f64) (ms: [n]f64) =
  let bs = map2 (\x m : body -> {pos = {x, y = 0, z = 0}, mass = m, vel = v.zero}) xs ms
  let bs = loop bs for _i < k do step 1e-9 0.1 bs
  in unzip (map (\(b: body) -> (b.pos.x, b.vel.x)) bs)
