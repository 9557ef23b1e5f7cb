type rec steps = #done | #step (i32 -> i32) steps

def same (x: steps) = x == x
