def (&&) (a: bool) (b: bool) = a
entry main = true
