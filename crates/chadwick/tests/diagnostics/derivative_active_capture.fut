def f (x: f64): f64 = with_vjp (\v -> v * x) (\_ adj -> adj) (x * x)
entry main (x: f64) = vjp f x 1
