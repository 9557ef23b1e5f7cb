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

-- Colours for the columns such that no row has two columns of one colour, and how many there are. Columns with many rows come first,
-- and each takes the first colour that is free. A column without rows has no colour, which is -1.
local def coloured [m][n][k] (offsets: [m + 1]i64) (columns: [k]i64) (starts: [n + 1]i64) (rows: [k]i64): (i64, [n]i64) =
  let rank j = m - (starts[j + 1] - starts[j])
  let (_, order) = by_columns (m + 1) (iota (n + 1)) (tabulate n rank)
  -- `taken[c]` is the last column that met colour `c` in a row; the place behind the colours is for columns that have none yet.
  let (count, colours, _) =
    loop (count, colours, taken) = (0, replicate n (-1), replicate (n + 1) (-1)) for place < n do
      let j = order[place]
      let taken =
        loop taken for d < starts[j + 1] - starts[j] do
          let row = rows[starts[j] + d]
          in loop taken for e < offsets[row + 1] - offsets[row] do
               let colour = colours[columns[offsets[row] + e]]
               in taken with [if colour < 0 then n else colour] = j
      let free = loop colour = 0 while taken[colour] == j do colour + 1
      let colour = if starts[j] == starts[j + 1] then -1 else free
      in (i64.max count (colour + 1), colours with [j] = colour, taken)
  in (count, colours)

-- | Which results of `f` depend on which inputs at `x`, as the offsets of the rows and their columns.
--
-- Sets of 60 members go through `f`. First a member is a large block of inputs, and then the blocks that were found are divided by 60
-- again, until a block is one input. Blocks that no result has both share a pass.
def jacobian_pattern [n][m] 'r (f: [n]r -> [m]r) (x: [n]r): ?[k].([m + 1]i64, [k]i64) =
  let whole = loop size = 60 while size < n do size * 60
  let (_, offsets, found) =
    loop (size, offsets, blocks: []i64) = (whole, iota (m + 1), replicate m 0) while size > 1 do
      let [k] (blocks: [k]i64) = blocks
      let part = size / 60
      let (starts, rows) = by_columns (i64.max 1 ((n + size - 1) / size)) offsets blocks
      let (count, colours) = coloured offsets blocks starts rows
      let member i = 1 << u64.i64 (i / part % 60)
      let seeds = tabulate_2d count n (\c i -> if colours[i / size] == c then member i else 0)
      let sets: [count][m]u64 = intrinsics.dependencies f x seeds
      -- Every block of a row has a colour of its own.
      let owner = owners k offsets
      let parts = map2 (\block row -> sets[colours[block], row]) blocks owner
      let ends = offsets_of (map (\set -> i64.i32 (u64.popc set)) parts)
      let (finer, _) =
        loop (finer, at) = (replicate ends[k] 0, 0) for e < k do
          let (finer, at, _) =
            loop (finer, at, set) = (finer, at, parts[e]) while set != 0 do
              (finer with [at] = blocks[e] * 60 + i64.i32 (u64.ctz set), at + 1, set & (set - 1))
          in (finer, at)
      in (part, map (\i -> ends[i]) offsets, finer)
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
  let forward () = coloured offsets columns starts rows
  let reverse () = coloured starts rows offsets columns
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
