-- Interp.

type op = #push i32 | #add | #mul | #dup | #jz i64 | #jmp i64 | #halt
def run [n] (prog: [n]op) : i32 =
  let (st, sp, _, _) =
    loop (st, sp, pc, go) = (replicate 16 0i32, 0i64, 0i64, true) while go do
      match prog[pc]
      case #push x -> (st with [sp] = x, sp + 1, pc + 1, true)
      case #add -> let v = st[sp-1] + st[sp-2] in (st with [sp-2] = v, sp - 1, pc + 1, true)
      case #mul -> let v = st[sp-1] * st[sp-2] in (st with [sp-2] = v, sp - 1, pc + 1, true)
      case #dup -> let v = st[sp-1] in (st with [sp] = v, sp + 1, pc + 1, true)
      case #jz t -> if st[sp-1] == 0 then (st, sp - 1, t, true) else (st, sp - 1, pc + 1, true)
      case #jmp t -> (st, sp, t, true)
      case #halt -> (st, sp, pc, false)
  in st[sp-1]

-- ==
-- entry: main
-- input {} output { 49i32 }
entry main = run [#push 3, #push 4, #add, #dup, #mul, #halt]
