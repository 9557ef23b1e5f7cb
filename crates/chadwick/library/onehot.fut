-- | One-hot values: zero everywhere but in one place, for values of any structure. They are the seeds that read a Jacobian column by
-- column (`jvp`) or row by row (`vjp`).
--
-- A generator knows how many places a value has (its space) and makes the value that is one in a given place. For a place outside the
-- space the value is zero everywhere; that is how generators of parts combine into one for the whole.

module type onehot = {
  -- | A generator of values of type `a` over a space of `n` places.
  type^ gen [n] 'a

  -- | The value that is one in place `i` and zero elsewhere.
  val onehot [n] 'a : gen [n] a -> (i: i64) -> a

  -- | How many places there are.
  val size [n] 'a : gen [n] a -> i64

  -- | One place, with the given one and zero.
  val point 'a : (one: a) -> (zero: a) -> gen [1] a

  val i8 : gen [1] i8
  val i16 : gen [1] i16
  val i32 : gen [1] i32
  val i64 : gen [1] i64
  val u8 : gen [1] u8
  val u16 : gen [1] u16
  val u32 : gen [1] u32
  val u64 : gen [1] u64
  val f16 : gen [1] f16
  val f32 : gen [1] f32
  val f64 : gen [1] f64

  -- | Pairs: first the places of the left component, then those of the right.
  val pair [n][m] 'a 'b : gen [n] a -> gen [m] b -> gen [n + m] (a, b)

  -- | Triples, likewise.
  val triple [n][m][k] 'a 'b 'c : gen [n] a -> gen [m] b -> gen [k] c -> gen [n + m + k] (a, b, c)

  -- | Arrays of `n` elements, element by element.
  val arr [n][m] 'a : gen [m] a -> gen [n * m] ([n]a)

  -- | The same values over a space of another size: places beyond the old space are zero.
  val resize [n] 'a : (m: i64) -> gen [n] a -> gen [m] a

  -- | Place `i` of a space of `m` means place `i mod n`: the generator starts over when it is through.
  val cycle [n] 'a : (m: i64) -> gen [n] a -> gen [m] a
}

module onehot : onehot = {
  -- The space is carried by an array without elements.
  type^ gen [n] 'a = {space: [0][n](), at: i64 -> a}

  local def space (n: i64): [0][n]() = []

  def onehot [n] 'a (g: gen [n] a) (i: i64): a = g.at i
  def size [n] 'a (_: gen [n] a): i64 = n

  def point 'a (one: a) (zero: a): gen [1] a =
    {space = space 1, at = \place -> if place == 0 then one else zero}

  def i8 = point 1i8 0
  def i16 = point 1i16 0
  def i32 = point 1i32 0
  def i64 = point 1i64 0
  def u8 = point 1u8 0
  def u16 = point 1u16 0
  def u32 = point 1u32 0
  def u64 = point 1u64 0
  def f16 = point 1f16 0
  def f32 = point 1f32 0
  def f64 = point 1f64 0

  def pair [n][m] 'a 'b (left: gen [n] a) (right: gen [m] b): gen [n + m] (a, b) =
    {space = space (n + m), at = \place -> (left.at (if place < n then place else -1), right.at (place - n))}

  def triple [n][m][k] 'a 'b 'c (first: gen [n] a) (second: gen [m] b) (third: gen [k] c): gen [n + m + k] (a, b, c) =
    { space = space (n + m + k)
    , at = \place -> ( first.at (if place < n then place else -1)
                     , second.at (if place < n + m then place - n else -1)
                     , third.at (place - n - m) ) }

  def arr [n][m] 'a (element: gen [m] a): gen [n * m] ([n]a) =
    { space = space (n * m)
    , at = \place -> tabulate n (\row -> let inner = place - row * m
                                         in element.at (if inner >= 0 && inner < m then inner else -1)) }

  def resize [n] 'a (m: i64) (g: gen [n] a): gen [m] a =
    {space = space m, at = \place -> g.at (if place < n then place else -1)}

  def cycle [n] 'a (m: i64) (g: gen [n] a): gen [m] a =
    {space = space m, at = \place -> g.at (if place >= 0 && place < m && n > 0 then place % n else -1)}
}

-- | All one-hot values of a generator.
def onehots [n] 'a (g: onehot.gen [n] a): [n]a = tabulate n (onehot.onehot g)

-- | The Jacobian of a function, one row for each place of its result.
def grad [n] 'a 'b (g: onehot.gen [n] b) (f: a -> b) (x: a): [n]a = map (vjp f x) (onehots g)
