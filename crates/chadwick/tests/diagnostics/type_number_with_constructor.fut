entry main (x: i64): i64 = match 5 case #some y -> y case #none -> x
