-- Sparse Jacobians: which results depend on which inputs, a colouring of that, and the derivatives from one pass for each colour.
--
-- A pattern is that of a matrix by rows: the columns of row `i` are `columns[offsets[i]:offsets[i + 1]]`, ascending.

-- Where each of several parts begins, and where the last ends.
local def offsets_of [n] (lengths: [n]i64): [n + 1]i64 =
  let ends = scan (+) 0 lengths
  in tabulate (n + 1) (\i -> if i == 0 then 0 else ends[i - 1])

-- The part to which each of the elements belongs.
local def owners [m] (k: i64) (offsets: [m + 1]i64): [k]i64 =
  let first i = if offsets[i] < offsets[i + 1] then offsets[i] else -1
  in scan i64.max 0 (intrinsics.hist_1d (replicate k 0) i64.max 0 m first (\i -> i))

-- The pattern by columns, of which there are `n`. As a sort of rows by their column it is stable.
local def by_columns [m][k] (n: i64) (offsets: [m + 1]i64) (columns: [k]i64): ([n + 1]i64, [k]i64) =
  let starts = offsets_of (hist (+) 0 n columns (replicate k 1))
  let owner = owners k offsets
  let (_, rows) =
    loop (next, rows) = (copy starts, replicate k 0) for e < k do
      let place = next[columns[e]]
      in (next with [columns[e]] = place + 1, rows with [place] = owner[e])
  in (starts, rows)

local def widest [n] (offsets: [n + 1]i64): i64 = reduce i64.max 0 (tabulate n (\i -> offsets[i + 1] - offsets[i]))

-- Colours for columns, given by columns in `m` rows, such that no row has two columns of one colour, and how many there are. Columns with many rows come first,
-- and each takes the first colour that is free. A column without rows has no colour, which is -1. Colours are given out 64 at a time: what a
-- row has of them is one number, and columns that find none of them free wait for the next.
local def coloured [n][k] (m: i64) (starts: [n + 1]i64) (rows: [k]i64): (i64, [n]i64) =
  let height j = starts[j + 1] - starts[j]
  let (_, order) = by_columns (m + 1) (iota (n + 1)) (tabulate n (\j -> m - height j))
  let (count, _, colours, _) =
    loop (count, first, colours, waiting: []i64) = (0, 0, replicate n (-1), filter (\j -> height j > 0) order)
    while length waiting > 0 do
      let (count, colours, _) =
        loop (count, colours, used) = (count, colours, replicate m 0) for j in waiting do
          let taken = loop taken = 0 for d < height j do taken | used[rows[starts[j] + d]]
          let free = i64.i32 (u64.ctz (!taken))
          let colour = if free == 64 then -1 else first + free
          let used =
            loop used for d < (if free == 64 then 0 else height j) do
              let row = rows[starts[j] + d]
              in used with [row] = used[row] | 1 << u64.i64 free
          in (i64.max count (colour + 1), colours with [j] = colour, used)
      in (count, first + 64, colours, filter (\j -> colours[j] < 0) waiting)
  in (count, colours)

-- The value at `point` of the polynomial whose coefficients are the last digits of a number in base 59. As 59 is prime, the polynomials of
-- two numbers that differ in these digits have the same value at fewer points than there are digits.
local def code (digits: i64) (point: i64) (number: i64): u64 =
  let (value, _) =
    loop (value, rest) = (0, u64.i64 number) for _d < digits do ((value * u64.i64 point + rest % 59) % 59, rest / 59)
  in value

-- | Which results of `f` depend on which inputs at `x`, as the offsets of the rows and their columns.
--
-- Sets of 59 members go through `f`. First a member is a large block of inputs, and then the blocks that were found are divided by 59
-- again, until a block is one input. At each level a part of a block is known by its member in one of two ways, whichever needs fewer passes:
--
-- * Blocks have colours, a pass is for a colour, and a member is the part's number in its block: a row has one block of each colour.
-- * A pass is for a point, and a member is the value of the part's polynomial there. A row with `d` parts has at most `d * depth` values in
--   common with another part. So what is found in more passes than that, with the `d` that was found, is no mistake.
def jacobian_pattern [n][m] 'r (f: [n]r -> [m]r) (x: [n]r): ?[k].([m + 1]i64, [k]i64) =
  let whole = loop size = 59 while size < n do size * 59
  let (_, _, _, offsets, found) =
    loop (size, depth, points, offsets, blocks: []i64) = (whole, 0, -1, iota (m + 1), replicate m 0) while size > 1 do
      let [k] (blocks: [k]i64) = blocks
      let part = size / 59
      let (starts, rows) = by_columns (i64.max 1 ((n + size - 1) / size)) offsets blocks
      let (colour_count, colours) = coloured m starts rows
      -- No points for colours, -1 for a level that is new: a block is expected to have about two parts in a row.
      let guess = 2 * depth * widest offsets + 1
      let points = if points >= 0 then points else if guess < i64.min 60 colour_count then guess else 0
      let member pass i =
        if points > 0 then 1 << code (depth + 1) pass (i / part)
        else if colours[i / size] == pass then 1 << u64.i64 (i / part % 59) else 0
      let count = if points > 0 then points else colour_count
      let sets: [count][m]u64 = intrinsics.dependencies f x (tabulate_2d count n member)
      -- Those of a block's parts whose values are all there. The last digit of a part's number is the first coefficient.
      let with_values block row =
        loop parts = (1 << 59) - 1 for pass < points do
          let (rest, power) = (code depth pass block, code (depth + 1) pass 1)
          let (_, kept) =
            loop (left, kept) = (parts, 0) while left != 0 do
              let value = (rest + u64.i32 (u64.ctz left) * power) % 59
              let next = left & (left - 1)
              in (next, if sets[pass, row] >> value & 1 == 1 then kept | (left ^ next) else kept)
          in kept
      let parts_of block row = if points > 0 then with_values block row else sets[colours[block], row]
      let parts = map2 parts_of blocks (owners k offsets)
      let ends = offsets_of (map (\set -> i64.i32 (u64.popc set)) parts)
      let next_offsets = map (\i -> ends[i]) offsets
      let needed = depth * widest next_offsets + 1
      in if points > 0 && points < needed
         then (size, depth, if needed < i64.min 60 colour_count then needed else 0, offsets, blocks)
         else let (finer, _) =
                loop (finer, at) = (replicate ends[k] 0, 0) for e < k do
                  let (finer, at, _) =
                    loop (finer, at, set) = (finer, at, parts[e]) while set != 0 do
                      (finer with [at] = blocks[e] * 59 + i64.i32 (u64.ctz set), at + 1, set & (set - 1))
                  in (finer, at)
              in (part, depth + 1, -1, next_offsets, finer)
  in (offsets, found)

-- | The Jacobian of `f` at `x` by compressed rows: the offsets of the rows, and the columns and values of what is stored of them. It
-- is found in as many passes as there are colours, of columns in forward mode or of rows in reverse mode, whichever has fewer.
#[class(r, real)]
def jacobian_sparse [n][m] 'r (f: [n]r -> [m]r) (x: [n]r): ?[k].([m + 1]i64, [k]i64, [k]r) =
  let [k] ((offsets, columns): ([m + 1]i64, [k]i64)) = jacobian_pattern f x
  let (starts, rows) = by_columns n offsets columns
  let owner = owners k offsets
  -- What one row or column has needs as many colours of the other; where that is too many, there is nothing to find.
  let (forward_least, reverse_least) = (widest offsets, widest starts)
  let forward () = coloured m starts rows
  let reverse () = coloured n offsets columns
  let (forward_count, column_colours) =
    if forward_least <= reverse_least then forward () else (i64.highest, replicate n (-1))
  let (reverse_count, row_colours) =
    if reverse_least < forward_count then reverse () else (i64.highest, replicate m (-1))
  let (forward_count, column_colours) =
    if reverse_least < forward_least && forward_least <= reverse_count then forward () else (forward_count, column_colours)
  let seeds count size (colours: [size]i64) =
    tabulate_2d count size (\c i -> if colours[i] == c then intrinsics.one : r else intrinsics.zero)
  let values =
    if forward_count <= reverse_count
    then let tangents = intrinsics.jmp f x (seeds forward_count n column_colours)
         in tabulate k (\e -> tangents[column_colours[columns[e]], owner[e]])
    else let cotangents = intrinsics.mjp f x (seeds reverse_count m row_colours)
         in tabulate k (\e -> cotangents[row_colours[owner[e]], columns[e]])
  in (offsets, columns, values)
