-- Arrays that a loop carries, of another length in the first iteration than in the others, or taking turns.
-- ==
-- entry: first_grad
-- input { 0.3 } output { -0.7488608849871686 }

-- ==
-- entry: first_directions
-- input { 0.3 } output { [-0.7488608849871686, -1.4977217699743373] }

-- ==
-- entry: turns_grad
-- input { 0.3 } output { 0.5101084075563486 }

-- ==
-- entry: turns_directions
-- input { 0.3 } output { [0.5101084075563486, 1.0202168151126971] }

-- ==
-- entry: within_grad
-- input { 0.3 } output { 4.551605594597842 }

-- ==
-- entry: within_directions
-- input { 0.3 } output { [4.551605594597842, 9.103211189195685] }

type~ numbers = []f64

def first (p: f64): f64 =
  let start: numbers = [p]
  in f64.sum (loop s: numbers = start for _i < 3 do map (\j -> f64.sum (map f64.sin s) + f64.i64 j) (iota 2))

entry first_grad (p: f64) = vjp first p 1
entry first_directions (p: f64) = jmp first p [1, 2]

def turns (p: f64): f64 =
  let short: numbers = [p]
  let long: numbers = [p, 2 * p, 3 * p]
  let (a, b) = loop (a: numbers, b: numbers) = (short, long) for i < 4 do
    let scaled: numbers = if i % 2 == 0 then map f64.sin b else map f64.cos b
    in (scaled, a)
  in f64.sum a * f64.product b

entry turns_grad (p: f64) = vjp turns p 1
entry turns_directions (p: f64) = jmp turns p [1, 2]

def within (p: f64): f64 =
  let start: numbers = [p]
  in loop total = 0 for i < 3 do
    let row: numbers = map (\j -> p * f64.i64 j) (0..<i + 1)
    let row: numbers = loop row: numbers = row for j < 2 do (map (\x -> x * x + f64.i64 j) row ++ start)
    in total + f64.sum (map f64.sin row)

entry within_grad (p: f64) = vjp within p 1
entry within_directions (p: f64) = jmp within p [1, 2]
