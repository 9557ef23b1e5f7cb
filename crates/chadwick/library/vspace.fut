-- | Vectors of two and three components over any number type that has square roots.

module mk_vspace_2d (R: real) = {
  type real = R.t
  type vector = {x: real, y: real}

  def map (f: real -> real) (v: vector): vector = {x = f v.x, y = f v.y}
  def zero: vector = {x = R.i32 0, y = R.i32 0}
  def one: vector = {x = R.i32 1, y = R.i32 1}
  -- | The inner product.
  def dot (a: vector) (b: vector): real = R.(a.x * b.x + a.y * b.y)
  -- | The square of the length.
  def quadrance (v: vector): real = dot v v
  -- | The length.
  def norm (v: vector): real = R.sqrt (quadrance v)
  def scale (k: real) (v: vector): vector = map (k R.*) v
  -- | The vector of length one in the same direction.
  def normalise (v: vector): vector = let l = norm v in map (R./ l) v
  -- | The vector turned by an angle, against the clock.
  def rotate (radians: real) (v: vector): vector =
    let c = R.cos radians
    let s = R.sin radians
    in {x = R.(v.x * c - v.y * s), y = R.(v.x * s + v.y * c)}
  def (+): vector -> vector -> vector = \a b -> {x = a.x R.+ b.x, y = a.y R.+ b.y}
  def (-): vector -> vector -> vector = \a b -> {x = a.x R.- b.x, y = a.y R.- b.y}
  def (*): vector -> vector -> vector = \a b -> {x = a.x R.* b.x, y = a.y R.* b.y}
  def (/): vector -> vector -> vector = \a b -> {x = a.x R./ b.x, y = a.y R./ b.y}
}

module mk_vspace_3d (R: real) = {
  type real = R.t
  type vector = {x: real, y: real, z: real}

  def map (f: real -> real) (v: vector): vector = {x = f v.x, y = f v.y, z = f v.z}
  def zero: vector = {x = R.i32 0, y = R.i32 0, z = R.i32 0}
  def one: vector = {x = R.i32 1, y = R.i32 1, z = R.i32 1}
  -- | The inner product.
  def dot (a: vector) (b: vector): real = R.(a.x * b.x + a.y * b.y + a.z * b.z)
  -- | The vector product.
  def cross (a: vector) (b: vector): vector =
    R.({x = a.y * b.z - a.z * b.y, y = a.z * b.x - a.x * b.z, z = a.x * b.y - a.y * b.x})
  -- | The square of the length.
  def quadrance (v: vector): real = dot v v
  -- | The length.
  def norm (v: vector): real = R.sqrt (quadrance v)
  def scale (k: real) (v: vector): vector = map (k R.*) v
  -- | The vector of length one in the same direction.
  def normalise (v: vector): vector = let l = norm v in map (R./ l) v
  def (+): vector -> vector -> vector = \a b -> {x = a.x R.+ b.x, y = a.y R.+ b.y, z = a.z R.+ b.z}
  def (-): vector -> vector -> vector = \a b -> {x = a.x R.- b.x, y = a.y R.- b.y, z = a.z R.- b.z}
  def (*): vector -> vector -> vector = \a b -> {x = a.x R.* b.x, y = a.y R.* b.y, z = a.z R.* b.z}
  def (/): vector -> vector -> vector = \a b -> {x = a.x R./ b.x, y = a.y R./ b.y, z = a.z R./ b.z}
}
