-- Numbers: the module types, and one module for each number type.

module type from_prim = {
  type t
  val i8 : i8 -> t
  val i16 : i16 -> t
  val i32 : i32 -> t
  val i64 : i64 -> t
  val u8 : u8 -> t
  val u16 : u16 -> t
  val u32 : u32 -> t
  val u64 : u64 -> t
  val f16 : f16 -> t
  val f32 : f32 -> t
  val f64 : f64 -> t
  val bool : bool -> t
}

module type numeric = {
  include from_prim
  val + : t -> t -> t
  val - : t -> t -> t
  val * : t -> t -> t
  val / : t -> t -> t
  val % : t -> t -> t
  val ** : t -> t -> t
  val to_i64 : t -> i64
  val == : t -> t -> bool
  val < : t -> t -> bool
  val > : t -> t -> bool
  val <= : t -> t -> bool
  val >= : t -> t -> bool
  val != : t -> t -> bool
  val neg : t -> t
  val max : t -> t -> t
  val min : t -> t -> t
  val abs : t -> t
  val sgn : t -> t
  val highest : t
  val lowest : t
  val sum [n] : [n]t -> t
  val product [n] : [n]t -> t
  val maximum [n] : [n]t -> t
  val minimum [n] : [n]t -> t
}

module type integral = {
  include numeric
  val // : t -> t -> t
  val %% : t -> t -> t
  val & : t -> t -> t
  val | : t -> t -> t
  val ^ : t -> t -> t
  val not : t -> t
  val << : t -> t -> t
  val >> : t -> t -> t
  val >>> : t -> t -> t
  val num_bits : i32
  val get_bit : i32 -> t -> i32
  val set_bit : i32 -> t -> i32 -> t
  val popc : t -> i32
  val mul_hi : t -> t -> t
  val mad_hi : t -> t -> t -> t
  val clz : t -> i32
  val ctz : t -> i32
}

module type real = {
  include numeric
  val from_fraction : i64 -> i64 -> t
  val to_f64 : t -> f64
  val recip : t -> t
  val sqrt : t -> t
  val rsqrt : t -> t
  val cbrt : t -> t
  val exp : t -> t
  val log : t -> t
  val log2 : t -> t
  val log10 : t -> t
  val log1p : t -> t
  val sin : t -> t
  val cos : t -> t
  val tan : t -> t
  val asin : t -> t
  val acos : t -> t
  val atan : t -> t
  val sinh : t -> t
  val cosh : t -> t
  val tanh : t -> t
  val asinh : t -> t
  val acosh : t -> t
  val atanh : t -> t
  val sinpi : t -> t
  val cospi : t -> t
  val tanpi : t -> t
  val asinpi : t -> t
  val acospi : t -> t
  val atanpi : t -> t
  val atan2 : t -> t -> t
  val atan2pi : t -> t -> t
  val hypot : t -> t -> t
  val gamma : t -> t
  val lgamma : t -> t
  val erf : t -> t
  val erfc : t -> t
  val lerp : t -> t -> t -> t
  val ceil : t -> t
  val floor : t -> t
  val trunc : t -> t
  val round : t -> t
  val mad : t -> t -> t -> t
  val fma : t -> t -> t -> t
  val isinf : t -> bool
  val isnan : t -> bool
  val inf : t
  val nan : t
  val pi : t
  val e : t
}

module type float = {
  include real
  type int_t
  val from_bits : int_t -> t
  val to_bits : t -> int_t
  val num_bits : i32
  val get_bit : i32 -> t -> i32
  val set_bit : i32 -> t -> i32 -> t
  val epsilon : t
  val nextafter : t -> t -> t
  val ldexp : t -> i32 -> t
  val copysign : t -> t -> t
}

-- What all number types have. The operators come last: inside the module the overloaded ones do the work.
local module mk_numeric (T: { type t }) = {
  type t = T.t
  #[inline] def i8 (x: i8): t = intrinsics.convert x
  #[inline] def i16 (x: i16): t = intrinsics.convert x
  #[inline] def i32 (x: i32): t = intrinsics.convert x
  #[inline] def i64 (x: i64): t = intrinsics.convert x
  #[inline] def u8 (x: u8): t = intrinsics.convert x
  #[inline] def u16 (x: u16): t = intrinsics.convert x
  #[inline] def u32 (x: u32): t = intrinsics.convert x
  #[inline] def u64 (x: u64): t = intrinsics.convert x
  #[inline] def f16 (x: f16): t = intrinsics.convert x
  #[inline] def f32 (x: f32): t = intrinsics.convert x
  #[inline] def f64 (x: f64): t = intrinsics.convert x
  #[inline] def bool (x: bool): t = intrinsics.convert x
  #[inline] def to_i64 (x: t): i64 = intrinsics.convert x
  #[inline] def neg (x: t): t = -x
  #[inline] def max (x: t) (y: t): t = intrinsics.max x y
  #[inline] def min (x: t) (y: t): t = intrinsics.min x y
  #[inline] def abs (x: t): t = intrinsics.abs x
  #[inline] def sgn (x: t): t = intrinsics.sgn x
  #[inline] def highest: t = intrinsics.highest
  #[inline] def lowest: t = intrinsics.lowest
  #[inline] def sum [n] (xs: [n]t): t = intrinsics.reduce (\(a: t) (b: t) -> a + b) intrinsics.zero n (\i -> xs[i])
  #[inline] def product [n] (xs: [n]t): t = intrinsics.reduce (\(a: t) (b: t) -> a * b) intrinsics.one n (\i -> xs[i])
  #[inline] def maximum [n] (xs: [n]t): t =
    intrinsics.reduce (\(a: t) (b: t) -> intrinsics.max a b) intrinsics.lowest n (\i -> xs[i])
  #[inline] def minimum [n] (xs: [n]t): t =
    intrinsics.reduce (\(a: t) (b: t) -> intrinsics.min a b) intrinsics.highest n (\i -> xs[i])
}

-- The operators at one type.
local module mk_operators (T: { type t }) = {
  type t = T.t
  #[inline] def (==): t -> t -> bool = \x y -> x == y
  #[inline] def (!=): t -> t -> bool = \x y -> x != y
  #[inline] def (<): t -> t -> bool = \x y -> x < y
  #[inline] def (<=): t -> t -> bool = \x y -> x <= y
  #[inline] def (>): t -> t -> bool = \x y -> x > y
  #[inline] def (>=): t -> t -> bool = \x y -> x >= y
  #[inline] def (+): t -> t -> t = \x y -> x + y
  #[inline] def (-): t -> t -> t = \x y -> x - y
  #[inline] def (*): t -> t -> t = \x y -> x * y
  #[inline] def (/): t -> t -> t = \x y -> x / y
  #[inline] def (%): t -> t -> t = \x y -> x % y
  #[inline] def (**): t -> t -> t = \x y -> x ** y
}

local module mk_integral (T: { type t }) = {
  open mk_numeric T
  #[inline] def not (x: t): t = intrinsics.complement x
  #[inline] def num_bits: i32 = intrinsics.popc (intrinsics.complement (intrinsics.zero : t))
  #[inline] def get_bit (bit: i32) (x: t): i32 =
    intrinsics.convert (intrinsics.shift_right_logical x (intrinsics.convert bit) & intrinsics.one)
  #[inline] def set_bit (bit: i32) (x: t) (b: i32): t =
    let place = intrinsics.convert bit
    in (x & intrinsics.complement ((intrinsics.one : t) << place)) | ((intrinsics.convert b : t) << place)
  #[inline] def popc (x: t): i32 = intrinsics.popc x
  #[inline] def clz (x: t): i32 = intrinsics.clz x
  #[inline] def ctz (x: t): i32 = intrinsics.ctz x
  #[inline] def mul_hi (x: t) (y: t): t = intrinsics.mul_hi x y
  #[inline] def mad_hi (a: t) (b: t) (c: t): t = intrinsics.mul_hi a b + c
  #[inline] def (>>): t -> t -> t = \x y -> intrinsics.shift_right_arithmetic x y
  #[inline] def (>>>): t -> t -> t = \x y -> intrinsics.shift_right_logical x y
  #[inline] def (<<): t -> t -> t = \x y -> x << y
  #[inline] def (//): t -> t -> t = \x y -> x // y
  #[inline] def (%%): t -> t -> t = \x y -> x %% y
  #[inline] def (&): t -> t -> t = \x y -> x & y
  #[inline] def (|): t -> t -> t = \x y -> x | y
  #[inline] def (^): t -> t -> t = \x y -> x ^ y
  open mk_operators T
}

local module mk_float (T: { type t type bits }) = {
  open mk_numeric T
  type int_t = T.bits
  #[inline] def from_fraction (x: i64) (y: i64): t = (intrinsics.convert x : t) / intrinsics.convert y
  #[inline] def to_f64 (x: t): f64 = intrinsics.convert x
  #[inline] def recip (x: t): t = intrinsics.one / x
  #[inline] def rsqrt (x: t): t = intrinsics.one / intrinsics.sqrt x
  #[inline] def sqrt (x: t): t = intrinsics.sqrt x
  #[inline] def cbrt (x: t): t = intrinsics.cbrt x
  #[inline] def exp (x: t): t = intrinsics.exp x
  #[inline] def log (x: t): t = intrinsics.log x
  #[inline] def log2 (x: t): t = intrinsics.log2 x
  #[inline] def log10 (x: t): t = intrinsics.log10 x
  #[inline] def log1p (x: t): t = intrinsics.log1p x
  #[inline] def sin (x: t): t = intrinsics.sin x
  #[inline] def cos (x: t): t = intrinsics.cos x
  #[inline] def tan (x: t): t = intrinsics.tan x
  #[inline] def asin (x: t): t = intrinsics.asin x
  #[inline] def acos (x: t): t = intrinsics.acos x
  #[inline] def atan (x: t): t = intrinsics.atan x
  #[inline] def sinh (x: t): t = intrinsics.sinh x
  #[inline] def cosh (x: t): t = intrinsics.cosh x
  #[inline] def tanh (x: t): t = intrinsics.tanh x
  #[inline] def asinh (x: t): t = intrinsics.asinh x
  #[inline] def acosh (x: t): t = intrinsics.acosh x
  #[inline] def atanh (x: t): t = intrinsics.atanh x
  #[inline] def sinpi (x: t): t = intrinsics.sinpi x
  #[inline] def cospi (x: t): t = intrinsics.cospi x
  #[inline] def tanpi (x: t): t = intrinsics.tanpi x
  #[inline] def asinpi (x: t): t = intrinsics.asinpi x
  #[inline] def acospi (x: t): t = intrinsics.acospi x
  #[inline] def atanpi (x: t): t = intrinsics.atanpi x
  #[inline] def gamma (x: t): t = intrinsics.gamma x
  #[inline] def lgamma (x: t): t = intrinsics.lgamma x
  #[inline] def erf (x: t): t = intrinsics.erf x
  #[inline] def erfc (x: t): t = intrinsics.erfc x
  #[inline] def ceil (x: t): t = intrinsics.ceil x
  #[inline] def floor (x: t): t = intrinsics.floor x
  #[inline] def trunc (x: t): t = intrinsics.trunc x
  #[inline] def round (x: t): t = intrinsics.round x
  #[inline] def atan2 (x: t) (y: t): t = intrinsics.atan2 x y
  #[inline] def atan2pi (x: t) (y: t): t = intrinsics.atan2pi x y
  #[inline] def hypot (x: t) (y: t): t = intrinsics.hypot x y
  #[inline] def copysign (x: t) (y: t): t = intrinsics.copysign x y
  #[inline] def nextafter (x: t) (y: t): t = intrinsics.nextafter x y
  #[inline] def ldexp (x: t) (k: i32): t = intrinsics.ldexp x k
  #[inline] def lerp (v0: t) (v1: t) (s: t): t = v0 + (v1 - v0) * s
  #[inline] def mad (a: t) (b: t) (c: t): t = a * b + c
  #[inline] def fma (a: t) (b: t) (c: t): t = intrinsics.fma a b c
  #[inline] def isnan (x: t): bool = x != x
  #[inline] def isinf (x: t): bool = x == intrinsics.infinity || x == -intrinsics.infinity
  #[inline] def inf: t = intrinsics.infinity
  #[inline] def nan: t = intrinsics.not_a_number
  #[inline] def pi: t = intrinsics.convert 3.141592653589793f64
  #[inline] def e: t = intrinsics.convert 2.718281828459045f64
  #[inline] def to_bits (x: t): int_t = intrinsics.to_bits x
  #[inline] def from_bits (x: int_t): t = intrinsics.from_bits x
  #[inline] def epsilon: t = intrinsics.nextafter intrinsics.one intrinsics.infinity - intrinsics.one
  #[inline] def num_bits: i32 = intrinsics.popc (intrinsics.complement (intrinsics.zero : int_t))
  #[inline] def get_bit (bit: i32) (x: t): i32 =
    intrinsics.convert (intrinsics.shift_right_logical (to_bits x) (intrinsics.convert bit) & intrinsics.one)
  #[inline] def set_bit (bit: i32) (x: t) (b: i32): t =
    let place = intrinsics.convert bit
    in from_bits ((to_bits x & intrinsics.complement ((intrinsics.one : int_t) << place))
                  | ((intrinsics.convert b : int_t) << place))
  open mk_operators T
}

module i8: (integral with t = i8) = mk_integral { type t = i8 }
module i16: (integral with t = i16) = mk_integral { type t = i16 }
module i32: (integral with t = i32) = mk_integral { type t = i32 }
module i64: (integral with t = i64) = mk_integral { type t = i64 }
module u8: (integral with t = u8) = mk_integral { type t = u8 }
module u16: (integral with t = u16) = mk_integral { type t = u16 }
module u32: (integral with t = u32) = mk_integral { type t = u32 }
module u64: (integral with t = u64) = mk_integral { type t = u64 }
module f16: (float with t = f16 with int_t = u16) = mk_float { type t = f16 type bits = u16 }
module f32: (float with t = f32 with int_t = u32) = mk_float { type t = f32 type bits = u32 }
module f64: (float with t = f64 with int_t = u64) = mk_float { type t = f64 type bits = u64 }

module bool = {
  type t = bool
  #[inline] def i8 (x: i8): bool = intrinsics.convert x
  #[inline] def i16 (x: i16): bool = intrinsics.convert x
  #[inline] def i32 (x: i32): bool = intrinsics.convert x
  #[inline] def i64 (x: i64): bool = intrinsics.convert x
  #[inline] def u8 (x: u8): bool = intrinsics.convert x
  #[inline] def u16 (x: u16): bool = intrinsics.convert x
  #[inline] def u32 (x: u32): bool = intrinsics.convert x
  #[inline] def u64 (x: u64): bool = intrinsics.convert x
  #[inline] def f16 (x: f16): bool = intrinsics.convert x
  #[inline] def f32 (x: f32): bool = intrinsics.convert x
  #[inline] def f64 (x: f64): bool = intrinsics.convert x
  #[inline] def bool (x: bool): bool = intrinsics.convert x
}
