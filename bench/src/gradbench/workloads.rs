//! The workloads of the suite's evaluations, with random data of our own from fixed seeds.

use crate::reference::Which;
use serde_json::{Value as Json, json};

pub struct Workload {
    pub name: String,
    pub module: &'static str,
    /// Not there where only the derivative is asked for.
    primal: Option<&'static str>,
    derivative: &'static str,
    /// Whether it is run when nothing is chosen.
    pub selected: bool,
    pub input: Box<dyn Fn() -> Json>,
}

impl Workload {
    fn new(module: &'static str, name: String, selected: bool, input: impl Fn() -> Json + 'static) -> Workload {
        let (primal, derivative) = match module {
            "kmeans" => ("cost", "dir"),
            "ba" | "gmm" | "ht" | "lstm" => ("objective", "jacobian"),
            _ => ("primal", "gradient"),
        };
        Workload { name: format!("{module} {name}"), module, primal: Some(primal), derivative, selected, input: Box::new(input) }
    }

    /// A minimum, by these modes of the outer and the inner derivative.
    fn minimum(module: &'static str, modes: &'static str, input: impl Fn() -> Json + 'static) -> Workload {
        let name = format!("{module} {modes}");
        Workload { name, module, primal: None, derivative: modes, selected: true, input: Box::new(input) }
    }

    /// The name of one of the two functions.
    pub fn function(&self, which: Which) -> Option<&'static str> {
        match which {
            Which::Primal => self.primal,
            Which::Gradient => Some(self.derivative),
        }
    }
}

pub fn all() -> Vec<Workload> {
    let mut all = Vec::new();
    let mut add = |workload| all.push(workload);
    for i in 0..10 {
        let n = 2500usize << i;
        add(Workload::new("lse", format!("{n}"), i == 9, move || exponents(n)));
    }
    for i in 0..11 {
        let n = if i == 10 { 16392 } else { 16usize << i };
        add(Workload::new("llsq", format!("{n}"), i == 10, move || polynomial(128, n)));
    }
    for (k, n, d) in product([10, 100, 1000], [1000, 10000], [8, 16]) {
        let selected = k >= 100 && n == 10000 && d == 16;
        add(Workload::new("kmeans", format!("k{k}_n{n}_d{d}"), selected, move || clusters(k, n, d)));
    }
    for (d, k, _) in product([2, 10, 20, 32, 64], [5, 10, 25, 50, 100], [0]) {
        let selected = [(2, 5), (10, 25), (32, 25), (64, 100)].contains(&(d, k));
        add(Workload::new("gmm", format!("{d}_{k}"), selected, move || mixture(d, k, 1000, 0, 1.0)));
    }
    for (n, s, _) in product([1000, 10_000, 100_000], [1, 10, 100], [0]) {
        add(Workload::new("ode", format!("{n}_{s}"), n * s == 10_000_000, move || equation(n, s)));
    }
    for (l, c, _) in product([2, 4, 6], [1024, 4096, 8192], [0]) {
        let selected = [(2, 1024), (4, 4096)].contains(&(l, c));
        add(Workload::new("lstm", format!("l{l}_c{c}"), selected, move || network(l, c, 14)));
    }
    for ell in 5..=11 {
        add(Workload::new("det", format!("{ell}"), ell == 8 || ell == 10, move || square_matrix(ell)));
    }
    let sizes = [(1, 49, 7776, 31843), (4, 318, 41628, 182_248), (8, 93, 61203, 287_451), (14, 356, 226_730, 1_255_268)];
    for (number, n, m, p) in sizes {
        add(Workload::new("ba", format!("{number}"), number == 1 || number == 8, move || bundle(n, m, p)));
    }
    let counts = [100, 192, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 100_000];
    for (number, c) in counts.into_iter().enumerate().map(|(number, c)| (number + 1, c)) {
        for (kind, complicated) in [("simple", false), ("complicated", true)] {
            let selected = number == 5 && complicated;
            add(Workload::new("ht", format!("{number}_{kind}"), selected, move || hand(c, complicated, false)));
        }
    }
    for modes in ["rr", "ff", "fr", "rf"] {
        add(Workload::minimum("saddle", modes, || json!({ "start": [1.0, 1.0] })));
    }
    for modes in ["rr", "ff", "fr", "rf"] {
        add(Workload::minimum("particle", modes, || json!({ "w": 0.0 })));
    }
    all
}

/// Small ones for tests, of all problems with a size. They have what those of the suite lack: sizes that are no multiples of anything, a prior
/// with all its parts, gradients of differential equations that are not zero, a mirrored hand.
pub fn small() -> Vec<Workload> {
    vec![
        Workload::new("lse", String::from("100"), false, || exponents(100)),
        Workload::new("llsq", String::from("75"), false, || polynomial(9, 75)),
        Workload::new("kmeans", String::from("k35_n90_d5"), false, || clusters(35, 90, 5)),
        Workload::new("gmm", String::from("3_4"), false, || mixture(3, 4, 21, 2, 1.5)),
        Workload::new("gmm", String::from("11_2"), false, || mixture(11, 2, 9, 0, 1.0)),
        Workload::new("ode", String::from("6_5"), false, || equation(6, 5)),
        Workload::new("ode", String::from("270_70"), false, || equation(270, 70)),
        Workload::new("lstm", String::from("l2_c6"), false, || network(2, 6, 3)),
        Workload::new("det", String::from("2"), false, || square_matrix(2)),
        Workload::new("det", String::from("5"), false, || square_matrix(5)),
        Workload::new("ba", String::from("small"), false, || bundle(2, 3, 7)),
        Workload::new("ht", String::from("simple"), false, || hand(6, false, false)),
        Workload::new("ht", String::from("complicated"), false, || hand(5, true, true)),
    ]
}

fn product<const A: usize, const B: usize, const C: usize>(
    a: [usize; A],
    b: [usize; B],
    c: [usize; C],
) -> Vec<(usize, usize, usize)> {
    a.into_iter().flat_map(|a| b.into_iter().flat_map(move |b| c.into_iter().map(move |c| (a, b, c)))).collect()
}

fn exponents(n: usize) -> Json {
    json!({ "x": Random(1).vector(n) })
}

fn polynomial(m: usize, n: usize) -> Json {
    json!({ "x": Random(2).vector(m), "n": n })
}

fn clusters(k: usize, n: usize, d: usize) -> Json {
    let points = Random(3).matrix(n, d);
    json!({ "centroids": points.as_array().map(|points| &points[..k.min(points.len())]), "points": points })
}

fn equation(n: usize, s: usize) -> Json {
    json!({ "x": Random(5).vector(n), "s": s })
}

fn square_matrix(ell: usize) -> Json {
    json!({ "A": Random(7).centred(ell * ell), "ell": ell })
}

fn mixture(d: usize, k: usize, n: usize, m: usize, gamma: f64) -> Json {
    let mut random = Random(4);
    json!({
        "d": d, "k": k, "n": n, "m": m, "gamma": gamma,
        "x": random.matrix(n, d), "alpha": random.normals(k), "mu": random.matrix(k, d),
        "q": rows(k, || random.normals(d)), "l": rows(k, || random.normals(d * (d - 1) / 2)),
    })
}

fn network(l: usize, c: usize, b: usize) -> Json {
    let mut random = Random(6);
    json!({
        "main_params": random.matrix(2 * l, 4 * b), "extra_params": random.matrix(3, b), "state": random.matrix(2 * l, b),
        // Characters of a text, in bits.
        "sequence": rows(c, || random.vector(b).into_iter().map(|x| x.round()).collect()),
    })
}

fn bundle(n: usize, m: usize, p: usize) -> Json {
    let mut random = Random(8);
    let mut camera = random.vector(3);
    camera.extend(random.centred(3));
    camera.extend([500.0, 300.0, 200.0, 0.01, -0.001]);
    let point: Vec<f64> = random.centred(3).into_iter().map(|x| 4.0 * x + 10.0).collect();
    json!({ "n": n, "m": m, "p": p, "cam": camera, "x": point, "w": random.next(), "feat": random.vector(2) })
}

type Matrix = [[f64; 4]; 4];

const IDENTITY: Matrix = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];

fn times(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..4).map(|k| a[i][k] * b[k][j]).sum()))
}

/// The inverse of a rotation about the z axis followed by a translation.
fn inverse(a: &Matrix) -> Matrix {
    let mut inverse = IDENTITY;
    for i in 0..3 {
        for j in 0..3 {
            inverse[i][j] = a[j][i];
        }
        inverse[i][3] = -(0..3).map(|k| a[k][i] * a[k][3]).sum::<f64>();
    }
    inverse
}

/// A hand: a root, a wrist, five fingers of four bones; 544 vertices near the bones, in triangles.
fn hand(correspondences: usize, complicated: bool, mirrored: bool) -> Json {
    const VERTICES: usize = 544;
    const TRIANGLES: usize = 1084;
    let mut random = Random(9);
    let mut parents = vec![-1i64, 0];
    for finger in 0..5 {
        parents.extend((0..4).map(|bone| if bone == 0 { 1 } else { 4 * finger + bone + 1 }));
    }
    let (mut relatives, mut absolutes) = (Vec::new(), Vec::<Matrix>::new());
    for parent in &parents {
        let (sine, cosine) = (random.next() - 0.5).sin_cos();
        let mut relative = IDENTITY;
        (relative[0][0], relative[0][1], relative[1][0], relative[1][1]) = (cosine, -sine, sine, cosine);
        (relative[0][3], relative[1][3], relative[2][3]) = (random.next() - 0.5, random.next(), random.next() - 0.5);
        absolutes.push(usize::try_from(*parent).map_or(relative, |parent| times(&absolutes[parent], &relative)));
        relatives.push(relative);
    }
    let (mut positions, mut weights) = (Vec::new(), Vec::new());
    for vertex in 0..VERTICES {
        let bone = vertex % parents.len();
        let near = |axis: usize, random: &mut Random| absolutes[bone][axis][3] + 0.3 * (random.next() - 0.5);
        positions.push([near(0, &mut random), near(1, &mut random), near(2, &mut random), 1.0]);
        let mut row = vec![0.0; parents.len()];
        let own = 0.5 + 0.5 * random.next();
        row[bone] += own;
        row[usize::try_from(parents[bone]).unwrap_or(0)] += 1.0 - own;
        weights.push(row);
    }
    let triangles: Vec<[usize; 3]> = (0..TRIANGLES).map(|_| [0, 1, 2].map(|_| random.below(VERTICES))).collect();
    let targets = if complicated { TRIANGLES } else { VERTICES };
    let theta: Vec<f64> = random.centred(26).into_iter().map(|x| 0.5 * x).collect();
    let us =
        if complicated { rows(correspondences, || random.vector(2).into_iter().map(|x| x / 2.0).collect()) } else { json!([]) };
    json!({
        "theta": theta, "us": us,
        "data": {
            "model": {
                "bone_count": parents.len(), "bone_names": (0..parents.len()).map(|bone| format!("bone{bone}")).collect::<Vec<_>>(),
                "inverse_base_absolutes": absolutes.iter().map(inverse).collect::<Vec<_>>(),
                "parents": parents, "base_relatives": relatives,
                "base_positions": positions, "weights": weights, "triangles": triangles, "is_mirrored": mirrored,
            },
            "correspondences": (0..correspondences).map(|_| random.below(targets)).collect::<Vec<_>>(),
            "points": random.matrix(correspondences, 3),
        },
    })
}

fn rows(count: usize, mut row: impl FnMut() -> Vec<f64>) -> Json {
    (0..count).map(|_| Json::from(row())).collect()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between 0 and 1.
    fn next(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    fn vector(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.next()).collect()
    }

    /// Between -1 and 1.
    fn centred(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| 2.0 * self.next() - 1.0).collect()
    }

    fn normals(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| (-2.0 * (1.0 - self.next()).ln()).sqrt() * (std::f64::consts::TAU * self.next()).cos()).collect()
    }

    fn matrix(&mut self, rows_count: usize, columns: usize) -> Json {
        rows(rows_count, || self.vector(columns))
    }
}
