-- Life.

def life [n][m] (b: [n][m]bool) : [n][m]bool =
  let c = map (map i32.bool) b
  let sum3 a = map2 (+) a (map2 (+) (rotate 1 a) (rotate (-1) a))
  let rows = map sum3 c
  let all = transpose (map sum3 (transpose rows))
  in map2 (map2 (\alive s -> s == 3 || (alive && s == 4))) b all

-- ==
-- entry: main
-- input { 1i32 [[false,false,false,false,false],[false,false,true,false,false],[false,false,true,false,false],[false,false,true,false,false],[false,false,false,false,false]] }
-- output { [[false,false,false,false,false],[false,false,false,false,false],[false,true,true,true,false],[false,false,false,false,false],[false,false,false,false,false]] }
entry main [n][m] (k: i32) (b: [n][m]bool) = iterate k life b
