module type shape = {
  type t
  val area: t -> real
}

module square: shape = {
  type t = f64
  def area (side: t) = side * side
}

module circle: shape = {
  type t = f64
  def area (radius: t) = f64.pi * radius * radius
}
