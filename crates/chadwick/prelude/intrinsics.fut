-- What the compiler knows by name. Everything else in the prelude is written with these.

-- | Opened everywhere. An attribute says which types the parameter may be.
module type operators = {
  #[number] val + 't : t -> t -> t
  #[number] val - 't : t -> t -> t
  #[number] val * 't : t -> t -> t
  #[number] val / 't : t -> t -> t
  #[number] val % 't : t -> t -> t
  #[number] val ** 't : t -> t -> t
  #[integer] val // 't : t -> t -> t
  #[integer] val %% 't : t -> t -> t
  #[integer] val & 't : t -> t -> t
  #[integer] val | 't : t -> t -> t
  #[integer] val ^ 't : t -> t -> t
  #[integer] val << 't : t -> t -> t
  #[integer] val >> 't : t -> t -> t
  #[number] val < 't : t -> t -> bool
  #[number] val <= 't : t -> t -> bool
  #[number] val > 't : t -> t -> bool
  #[number] val >= 't : t -> t -> bool
  #[equality] val == 't : t -> t -> bool
  #[equality] val != 't : t -> t -> bool
}

module type intrinsics = {
  #[number] val negate 't : t -> t
  #[bool_or_integer] val complement 't : t -> t

  -- Scalars of whatever type the use has; lowering knows which.
  val zero 't : t
  val one 't : t
  val highest 't : t
  val lowest 't : t
  val infinity 't : t
  val not_a_number 't : t
  val convert 'a 'b : a -> b
  val abs 't : t -> t
  val sgn 't : t -> t
  val min 't : t -> t -> t
  val max 't : t -> t -> t
  val sqrt 't : t -> t
  val cbrt 't : t -> t
  val exp 't : t -> t
  val log 't : t -> t
  val log2 't : t -> t
  val log10 't : t -> t
  val log1p 't : t -> t
  val sin 't : t -> t
  val cos 't : t -> t
  val tan 't : t -> t
  val asin 't : t -> t
  val acos 't : t -> t
  val atan 't : t -> t
  val sinh 't : t -> t
  val cosh 't : t -> t
  val tanh 't : t -> t
  val asinh 't : t -> t
  val acosh 't : t -> t
  val atanh 't : t -> t
  val sinpi 't : t -> t
  val cospi 't : t -> t
  val tanpi 't : t -> t
  val asinpi 't : t -> t
  val acospi 't : t -> t
  val atanpi 't : t -> t
  val gamma 't : t -> t
  val lgamma 't : t -> t
  val erf 't : t -> t
  val erfc 't : t -> t
  val ceil 't : t -> t
  val floor 't : t -> t
  val trunc 't : t -> t
  val round 't : t -> t
  val atan2 't : t -> t -> t
  val atan2pi 't : t -> t -> t
  val hypot 't : t -> t -> t
  val copysign 't : t -> t -> t
  val nextafter 't : t -> t -> t
  val ldexp 't : t -> i32 -> t
  val fma 't : t -> t -> t -> t
  val to_bits 't 'b : t -> b
  val from_bits 't 'b : b -> t
  val shift_right_arithmetic 't : t -> t -> t
  val shift_right_logical 't : t -> t -> t
  val mul_hi 't : t -> t -> t
  val popc 't : t -> i32
  val clz 't : t -> i32
  val ctz 't : t -> i32

  -- Fails unless the number can be a size.
  val natural : i64 -> ()
  val build 'a : (n: i64) -> (i64 -> a) -> *[n]a
  val build_2d 'a : (n: i64) -> (m: i64) -> (i64 -> i64 -> a) -> *[n][m]a
  val build_3d 'a : (n: i64) -> (m: i64) -> (k: i64) -> (i64 -> i64 -> i64 -> a) -> *[n][m][k]a
  -- The element at each index of a space of the given size.
  val reduce 'a : (a -> a -> a) -> a -> (n: i64) -> (i64 -> a) -> a
  val reduce_comm 'a : (a -> a -> a) -> a -> (n: i64) -> (i64 -> a) -> a
  val scan 'a : (a -> a -> a) -> a -> (n: i64) -> (i64 -> a) -> *[n]a
  val hist_1d 'a [k] : *[k]a -> (a -> a -> a) -> a -> (n: i64) -> (i64 -> i64) -> (i64 -> a) -> *[k]a
  val hist_2d 'a [k][l] : *[k][l]a -> (a -> a -> a) -> a -> (n: i64) -> (i64 -> (i64, i64)) -> (i64 -> a) -> *[k][l]a
  val hist_3d 'a [k][l][m] : *[k][l][m]a -> (a -> a -> a) -> a -> (n: i64) -> (i64 -> (i64, i64, i64)) -> (i64 -> a) -> *[k][l][m]a
  val scatter_1d 'a [k] : *[k]a -> (n: i64) -> (i64 -> i64) -> (i64 -> a) -> *[k]a
  val scatter_2d 'a [k][l] : *[k][l]a -> (n: i64) -> (i64 -> (i64, i64)) -> (i64 -> a) -> *[k][l]a
  val scatter_3d 'a [k][l][m] : *[k][l][m]a -> (n: i64) -> (i64 -> (i64, i64, i64)) -> (i64 -> a) -> *[k][l][m]a
  val concat 'a [n][m] : [n]a -> [m]a -> *[n + m]a
  val transpose 'a [n][m] : [n][m]a -> [m][n]a
  val flatten 'a [n][m] : [n][m]a -> [n * m]a
  val unflatten 'a [n][m] : [n * m]a -> [n][m]a
  val zip 'a 'b [n] : [n]a -> [n]b -> [n](a, b)
  val unzip 'a 'b [n] : [n](a, b) -> ([n]a, [n]b)
  val copy 'a : a -> *a
  val opaque 'a : a -> a
  val trace 'a : a -> a
  val par 'a 'b : a -> b -> (a, b)

  val jvp 'a 'b : (a -> b) -> a -> a -> b
  val jvp2 'a 'b : (a -> b) -> a -> a -> (b, b)
  val vjp 'a 'b : (a -> b) -> a -> b -> a
  val vjp2 'a 'b : (a -> b) -> a -> b -> (b, a)
  val jmp 'a 'b [n] : (a -> b) -> a -> [n]a -> [n]b
  val jmp2 'a 'b [n] : (a -> b) -> a -> [n]a -> (b, [n]b)
  val mjp 'a 'b [n] : (a -> b) -> a -> [n]b -> [n]a
  val mjp2 'a 'b [n] : (a -> b) -> a -> [n]b -> (b, [n]a)
  -- For sets (bits below 60) at the numbers of the argument, the union of those on which each number of the result depends.
  val dependencies 'a 'b 's 't [k] : (a -> b) -> a -> [k]s -> [k]t
  val with_vjp 'a 'b : (a -> b) -> (b -> b -> a) -> a -> b
  val with_vjp_tape 'a 'b 'c : (a -> (c, b)) -> ((c, b) -> a) -> a -> b
  val with_jvp 'a 'b : (a -> b) -> (a -> a -> b) -> a -> b
}
