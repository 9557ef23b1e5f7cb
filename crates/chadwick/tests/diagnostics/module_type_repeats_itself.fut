module type m = {
  type t
  type t
  val x: t
  val x: i32
}
