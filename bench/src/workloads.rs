//! What is measured, and on which sizes.

use crate::inputs::Random;
use chadwick::values::Value;

/// Makes the arguments for some sizes.
pub type Arguments = fn(&[i64], &mut Random) -> Vec<Value>;
/// How many problems a call solves on some sizes.
pub type Problems = fn(&[i64]) -> i64;

/// A program, a reference, and sizes.
#[derive(Clone)]
pub struct Workload {
    pub name: &'static str,
    /// The file in `programs/`, without its ending.
    pub program: &'static str,
    /// The file in `reference/`, without its ending.
    pub reference: &'static str,
    pub sizes: Vec<i64>,
    /// Sizes on which every engine can be counted, those with the wrong complexity too.
    pub counted: Vec<i64>,
    /// Sizes for a test that both sides agree.
    pub small: Vec<i64>,
    pub arguments: Arguments,
    /// For a program of Table 3.1 of the thesis, the gradient's time there, in nanoseconds, and how many of its problems a call solves.
    pub thesis: Option<(f64, Problems)>,
}

impl Workload {
    fn new(name: &'static str, sizes: &[i64], counted: &[i64], small: &[i64], arguments: Arguments) -> Workload {
        let (sizes, counted, small) = (sizes.to_vec(), counted.to_vec(), small.to_vec());
        Workload { name, program: name, reference: name, sizes, counted, small, arguments, thesis: None }
    }

    fn thesis(self, nanoseconds: f64, problems: Problems) -> Workload {
        Workload { thesis: Some((nanoseconds, problems)), ..self }
    }
}

/// Matrix products of several sizes.
pub fn matrix_products() -> Vec<Workload> {
    let all = all();
    let of_size = |name: &str, sizes: Vec<i64>| {
        all.iter().find(|workload| workload.name == name).map(|workload| Workload { sizes, ..workload.clone() })
    };
    let products = [128, 200, 256, 512, 1024].map(|n| of_size("matmul", vec![n; 3]));
    let with_vectors = [128, 512, 1024].map(|n| of_size("matvec", vec![n; 2]));
    products.into_iter().chain(with_vectors).flatten().collect()
}

/// All of them, in the order of the table.
pub fn all() -> Vec<Workload> {
    let gmm = Workload::new("gmm", &[1000, 64, 25], &[10, 6, 4], &[5, 4, 3], gmm);
    let recurrence = Workload::new("recurrence", &[100_000], &[200], &[9], recurrence);
    vec![
        Workload::new("dot", &[100_000], &[200], &[9], |n, r| {
            vec![r.array(n, -1.0, 1.0), r.array(n, -1.0, 1.0), Value::from(1.5)]
        }),
        Workload::new("axpy_chain", &[10_000, 10], &[100, 5], &[9, 3], |n, r| {
            vec![r.array(&n[1..], -1.0, 1.0), r.array(&n[..1], -1.0, 1.0), r.array(&n[..1], -1.0, 1.0)]
        }),
        Workload::new("matvec", &[512, 512], &[20, 20], &[3, 9], |n, r| {
            vec![r.array(n, -1.0, 1.0), r.array(&n[1..], -1.0, 1.0), r.array(&n[..1], -1.0, 1.0)]
        }),
        Workload::new("matmul", &[256, 256, 256], &[8, 8, 8], &[9, 3, 5], |n, r| {
            vec![r.array(&n[..2], -1.0, 1.0), r.array(&n[1..], -1.0, 1.0), r.array(&[n[0], n[2]], -1.0, 1.0)]
        }),
        Workload::new("convolution", &[20_000, 32], &[60, 6], &[9, 4], |n, r| {
            vec![r.array(&n[..1], -1.0, 1.0), r.array(&n[1..], -1.0, 1.0), r.array(&[n[0] - n[1] + 1], -1.0, 1.0)]
        }),
        Workload::new("logistic_regression", &[10_000, 100], &[40, 10], &[5, 3], |n, r| {
            let labels: Vec<f64> = (0..n[0]).map(|_| r.number().round()).collect();
            vec![r.array(&n[1..], -0.5, 0.5), r.array(n, -1.0, 1.0), Value::from(labels)]
        }),
        Workload::new("mlp", &[64, 784, 128, 10], &[8, 16, 8, 4], &[9, 5, 4, 3], |n, r| {
            vec![
                r.array(&[n[1], n[2]], -0.1, 0.1),
                r.array(&[n[2]], -0.1, 0.1),
                r.array(&[n[2], n[3]], -0.1, 0.1),
                r.array(&[n[3]], -0.1, 0.1),
                r.array(&[n[0], n[1]], 0.0, 1.0),
                r.one_hot(n[0], n[3]),
            ]
        }),
        Workload::new("lstm", &[50, 32, 64], &[6, 4, 6], &[4, 3, 2], |n, r| {
            let (steps, inputs, hidden) = (n[0], n[1], n[2]);
            vec![
                r.array(&[4 * hidden, inputs], -0.3, 0.3),
                r.array(&[4 * hidden, hidden], -0.3, 0.3),
                r.array(&[4 * hidden], -0.3, 0.3),
                r.array(&[steps, inputs], -1.0, 1.0),
                r.array(&[steps, hidden], -1.0, 1.0),
            ]
        }),
        gmm.clone(),
        Workload { name: "gmm_small", sizes: vec![100, 64, 25], ..gmm },
        Workload::new("kmeans", &[10_000, 10, 16], &[50, 5, 4], &[7, 3, 2], |n, r| {
            vec![r.array(&n[1..], 0.0, 1.0), r.array(&[n[0], n[2]], 0.0, 1.0)]
        }),
        Workload::new("black_scholes", &[100_000], &[100], &[9], |n, r| {
            let ranges = [(50.0, 150.0), (50.0, 150.0), (0.01, 0.1), (0.1, 0.5), (0.1, 2.0)];
            ranges.iter().map(|(low, high)| r.array(n, *low, *high)).collect()
        }),
        Workload::new("heat", &[128, 100], &[10, 8], &[5, 3], |n, r| {
            vec![Value::from(n[1]), r.array(&[n[0], n[0]], 0.0, 1.0), r.array(&[n[0], n[0]], 0.0, 1.0)]
        }),
        Workload::new("nbody", &[500], &[12], &[5], |n, r| {
            let mut values: Vec<Value> = (0..6).map(|_| r.array(n, -1.0, 1.0)).collect();
            values.push(r.array(n, 0.1, 1.0));
            values
        }),
        Workload::new("skinning", &[500, 8], &[12, 4], &[3, 2], |n, r| {
            vec![r.array(&[6 * n[1]], -1.0, 1.0), r.array(n, 0.0, 0.2), r.array(&[n[0], 3], -1.0, 1.0)]
        }),
        Workload::new("histogram", &[100_000, 256], &[200, 16], &[9, 4], |n, r| {
            vec![r.indices(n[0], n[1]), r.array(&n[..1], -1.0, 1.0), Value::from(n[1])]
        }),
        recurrence.clone(),
        Workload { name: "recurrence_loop", program: "recurrence_loop", ..recurrence },
        Workload::new("escape", &[100_000], &[100], &[9], |n, r| vec![r.array(n, 0.0, 2.0), r.array(n, 0.1, 1.0)]),
        Workload::new("tree", &[65_535], &[127], &[15], |n, r| vec![r.array(n, 0.0, 1.0)]),
        Workload::new("thesis_multiply", &[10_000], &[100], &[9], |n, r| vec![r.array(n, -1.0, 1.0), r.array(n, -1.0, 1.0)])
            .thesis(330.0, |n| n[0]),
        Workload::new("thesis_dot", &[10_000], &[200], &[9], |n, r| vec![r.array(n, -1.0, 1.0), r.array(n, -1.0, 1.0)])
            .thesis(950.0, |n| n[0]),
        Workload::new("thesis_sum_mat_vec", &[100, 100], &[15, 15], &[3, 9], |n, r| {
            vec![r.array(n, -1.0, 1.0), r.array(&n[1..], -1.0, 1.0)]
        })
        .thesis(590.0, |n| n[0] * n[1]),
        Workload::new("thesis_rotate", &[1000], &[20], &[9], |n, r| {
            vec![r.array(&[n[0], 4], -1.0, 1.0), r.array(&[n[0], 3], -1.0, 1.0)]
        })
        .thesis(5620.0, |n| n[0]),
        Workload::new("thesis_neural", &[50, 100, 50], &[10, 12, 10], &[5, 4, 3], |n, r| {
            vec![
                r.array(&[n[1], n[0]], -0.3, 0.3),
                r.array(&[n[1]], -0.3, 0.3),
                r.array(&[n[2], n[1]], -0.3, 0.3),
                r.array(&[n[2]], -0.3, 0.3),
                r.array(&[n[0]], -1.0, 1.0),
            ]
        })
        .thesis(2.4e6, |_| 1),
        Workload::new("thesis_particles", &[4, 1000], &[4, 20], &[4, 5], |n, r| {
            vec![Value::from(n[1]), r.array(&[n[0], 4], -2.0, 2.0)]
        })
        .thesis(7.6e6, |_| 1),
    ]
}

fn gmm(n: &[i64], r: &mut Random) -> Vec<Value> {
    let (points, dimensions, components) = (n[0], n[1], n[2]);
    vec![
        r.array(&[points, dimensions], -1.0, 1.0),
        r.array(&[components], -1.0, 1.0),
        r.array(&[components, dimensions], -1.0, 1.0),
        r.array(&[components, dimensions], -0.5, 0.5),
        r.array(&[components, dimensions * (dimensions - 1) / 2], -0.1, 0.1),
    ]
}

fn recurrence(n: &[i64], r: &mut Random) -> Vec<Value> {
    vec![r.array(n, 0.0, 0.9), r.array(n, -1.0, 1.0)]
}
