module type num = { type t val one : t val plus : t -> t -> t }
module twice (N: num) (M: num with t = N.t) = {
  def wrong = N.plus N.one true
  def two = N.plus N.one M.one
  def unknown = three
}
module i32_num = { type t = i32 def one = 1i32 def plus (x: i32) y = x + y }
module f64_num = { type t = f64 def one = 1f64 def plus (x: f64) y = x + y }
module a = twice i32_num i32_num
module b = twice f64_num f64_num
entry main (x: i32) = x + a.two + i32.f64 b.two
