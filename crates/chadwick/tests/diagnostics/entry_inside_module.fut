module m = {
  entry f (x: i32) = x + 1
}
