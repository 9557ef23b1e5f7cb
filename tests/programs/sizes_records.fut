-- Sizes of arrays inside records.

type mat 'a [n][m] = {data: [n][m]a, name: i32}
def tr 'a [n][m] (x: mat a [n][m]) : mat a [m][n] = x with data = transpose x.data
def tr' 'a [n][m] (x: mat a [n][m]) : mat a [m][n] = {data = transpose x.data, name = x.name}

-- ==
-- entry: a
-- input {} output { [[1i32],[2i32]] }
entry a = (tr' {data = [[1i32,2]], name = 3}).data
type~ csr = {rows: []i64, cols: []i64, vals: []f64, n: i64}
def dense (m: csr) (w: i64) : [][w]f64 =
  tabulate m.n (\i -> let d = replicate w 0 in reduce_by_index d (+) 0 m.cols[m.rows[i]:m.rows[i+1]] (m.vals[m.rows[i]:m.rows[i+1]] :> [m.rows[i+1]-m.rows[i]]f64))

-- ==
-- entry: b
-- input {} output { [[0f64,5,0],[1f64,0,2]] }
entry b = dense {rows = [0,1,3], cols = [1,0,2], vals = [5,1,2], n = 2} 3
