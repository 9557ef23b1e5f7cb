//! What a linear map may be at run time (Ellis et al., section 5.4): a matrix, a closure, or a syntax tree.
//!
//! All three are over coordinates: a value of a type is the list of its numbers, in order. They agree; they differ in what they cost. A
//! matrix is as large as the product of both sides, a closure hides what it is made of, a tree is what was written down.

use std::rc::Rc;

/// The operations of linear maps from lists of `inputs` numbers to lists of `outputs` numbers.
pub trait Representation: Clone {
    fn inputs(&self) -> usize;
    fn outputs(&self) -> usize;
    /// `0`
    fn zero(outputs: usize, inputs: usize) -> Self;
    /// `1`
    fn one(size: usize) -> Self;
    /// `S(k)`
    fn scale(factor: f64, size: usize) -> Self;
    /// `m ∘ n`
    fn compose(last: &Self, first: &Self) -> Self;
    /// `m ⊕ n`
    fn sum(left: &Self, right: &Self) -> Self;
    /// `m × n × …`, and `V` of a vector of maps; with no map at all there are still inputs.
    fn vcat(maps: &[Self], inputs: usize) -> Self;
    /// `m ⋈ n ⋈ …`, and `H` of a vector of maps; with no map at all there are still outputs.
    fn hcat(maps: &[Self], outputs: usize) -> Self;
    /// `mᵀ`
    fn transpose(&self) -> Self;
    /// `m ⊙ x`
    fn apply(&self, x: &[f64]) -> Vec<f64>;
    /// `r ⊙_R m`
    fn apply_reverse(&self, r: &[f64]) -> Vec<f64>;
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

fn added(left: &[f64], right: &[f64]) -> Vec<f64> {
    left.iter().zip(right).map(|(left, right)| left + right).collect()
}

/// Rows of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    pub rows: Vec<Vec<f64>>,
    inputs: usize,
}

impl Representation for Matrix {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn outputs(&self) -> usize {
        self.rows.len()
    }

    fn zero(outputs: usize, inputs: usize) -> Matrix {
        Matrix { rows: vec![vec![0.0; inputs]; outputs], inputs }
    }

    fn one(size: usize) -> Matrix {
        Matrix::scale(1.0, size)
    }

    fn scale(factor: f64, size: usize) -> Matrix {
        let mut matrix = Matrix::zero(size, size);
        (0..size).for_each(|at| matrix.rows[at][at] = factor);
        matrix
    }

    fn compose(last: &Matrix, first: &Matrix) -> Matrix {
        let columns = first.transpose();
        let row = |row: &Vec<f64>| columns.rows.iter().map(|column| dot(row, column)).collect();
        Matrix { rows: last.rows.iter().map(row).collect(), inputs: first.inputs }
    }

    fn sum(left: &Matrix, right: &Matrix) -> Matrix {
        let rows = left.rows.iter().zip(&right.rows).map(|(left, right)| added(left, right)).collect();
        Matrix { rows, inputs: left.inputs }
    }

    fn vcat(maps: &[Matrix], inputs: usize) -> Matrix {
        Matrix { rows: maps.iter().flat_map(|map| map.rows.iter().cloned()).collect(), inputs }
    }

    fn hcat(maps: &[Matrix], outputs: usize) -> Matrix {
        let row = |at: usize| maps.iter().flat_map(|map| map.rows.get(at).cloned().unwrap_or_default()).collect();
        Matrix { rows: (0..outputs).map(row).collect(), inputs: maps.iter().map(Matrix::inputs).sum() }
    }

    fn transpose(&self) -> Matrix {
        let rows = (0..self.inputs).map(|column| self.rows.iter().map(|row| row[column]).collect()).collect();
        Matrix { rows, inputs: self.rows.len() }
    }

    fn apply(&self, x: &[f64]) -> Vec<f64> {
        self.rows.iter().map(|row| dot(row, x)).collect()
    }

    fn apply_reverse(&self, r: &[f64]) -> Vec<f64> {
        (0..self.inputs).map(|column| self.rows.iter().zip(r).map(|(row, r)| row[column] * r).sum()).collect()
    }
}

type Function = Rc<dyn Fn(&[f64]) -> Vec<f64>>;

/// Two functions: what the map does, and what its transpose does.
#[derive(Clone)]
pub struct Closure {
    inputs: usize,
    outputs: usize,
    forward: Function,
    reverse: Function,
}

/// `x` cut into pieces of these lengths.
fn pieces<'x>(x: &'x [f64], lengths: &[usize]) -> Vec<&'x [f64]> {
    let mut rest = x;
    let mut pieces = Vec::new();
    for length in lengths {
        let (piece, behind) = rest.split_at((*length).min(rest.len()));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

/// Applies each function to its piece and adds up the results, each of which has `size` numbers.
fn gathered(functions: &[Function], lengths: &[usize], size: usize, x: &[f64]) -> Vec<f64> {
    let parts = functions.iter().zip(pieces(x, lengths)).map(|(function, piece)| function(piece));
    parts.fold(vec![0.0; size], |sum, part| added(&sum, &part))
}

/// Applies each function to the same argument and puts the results one behind the other.
fn spread(functions: &[Function], x: &[f64]) -> Vec<f64> {
    functions.iter().flat_map(|function| function(x)).collect()
}

impl Representation for Closure {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn zero(outputs: usize, inputs: usize) -> Closure {
        let (forward, reverse) = (Rc::new(move |_: &[f64]| vec![0.0; outputs]), Rc::new(move |_: &[f64]| vec![0.0; inputs]));
        Closure { inputs, outputs, forward, reverse }
    }

    fn one(size: usize) -> Closure {
        let same = Rc::new(|x: &[f64]| x.to_vec());
        Closure { inputs: size, outputs: size, forward: same.clone(), reverse: same }
    }

    fn scale(factor: f64, size: usize) -> Closure {
        let times = Rc::new(move |x: &[f64]| x.iter().map(|x| factor * x).collect());
        Closure { inputs: size, outputs: size, forward: times.clone(), reverse: times }
    }

    fn compose(last: &Closure, first: &Closure) -> Closure {
        let (f, g) = (Rc::clone(&last.forward), Rc::clone(&first.forward));
        let (f_back, g_back) = (Rc::clone(&last.reverse), Rc::clone(&first.reverse));
        let forward = Rc::new(move |x: &[f64]| f(&g(x)));
        let reverse = Rc::new(move |r: &[f64]| g_back(&f_back(r)));
        Closure { inputs: first.inputs, outputs: last.outputs, forward, reverse }
    }

    fn sum(left: &Closure, right: &Closure) -> Closure {
        let both = |left: &Function, right: &Function| -> Function {
            let (left, right) = (Rc::clone(left), Rc::clone(right));
            Rc::new(move |x: &[f64]| added(&left(x), &right(x)))
        };
        let (forward, reverse) = (both(&left.forward, &right.forward), both(&left.reverse, &right.reverse));
        Closure { inputs: left.inputs, outputs: left.outputs, forward, reverse }
    }

    fn vcat(maps: &[Closure], inputs: usize) -> Closure {
        let forward: Vec<Function> = maps.iter().map(|map| Rc::clone(&map.forward)).collect();
        let reverse: Vec<Function> = maps.iter().map(|map| Rc::clone(&map.reverse)).collect();
        let lengths: Vec<usize> = maps.iter().map(|map| map.outputs).collect();
        Closure {
            inputs,
            outputs: lengths.iter().sum(),
            forward: Rc::new(move |x| spread(&forward, x)),
            reverse: Rc::new(move |r| gathered(&reverse, &lengths, inputs, r)),
        }
    }

    fn hcat(maps: &[Closure], outputs: usize) -> Closure {
        let transposed: Vec<Closure> = maps.iter().map(Closure::transpose).collect();
        Closure::vcat(&transposed, outputs).transpose()
    }

    fn transpose(&self) -> Closure {
        let (forward, reverse) = (Rc::clone(&self.reverse), Rc::clone(&self.forward));
        Closure { inputs: self.outputs, outputs: self.inputs, forward, reverse }
    }

    fn apply(&self, x: &[f64]) -> Vec<f64> {
        (self.forward)(x)
    }

    fn apply_reverse(&self, r: &[f64]) -> Vec<f64> {
        (self.reverse)(r)
    }
}

/// The constructors themselves, which are interpreted when the map is applied. Parts are shared, so the tree of a run is a trace of it.
#[derive(Clone, Debug)]
pub enum Tree {
    Zero { outputs: usize, inputs: usize },
    Scale { factor: Option<f64>, size: usize },
    Compose(Rc<Tree>, Rc<Tree>),
    Sum(Rc<Tree>, Rc<Tree>),
    VCat(Rc<[Tree]>, usize),
    HCat(Rc<[Tree]>, usize),
    Transpose(Rc<Tree>),
}

impl Tree {
    /// How many constructors the tree has, where shared parts count once for each place.
    pub fn size(&self) -> usize {
        1 + match self {
            Tree::Zero { .. } | Tree::Scale { .. } => 0,
            Tree::Compose(left, right) | Tree::Sum(left, right) => left.size() + right.size(),
            Tree::VCat(maps, _) | Tree::HCat(maps, _) => maps.iter().map(Tree::size).sum(),
            Tree::Transpose(map) => map.size(),
        }
    }
}

impl Representation for Tree {
    fn inputs(&self) -> usize {
        match self {
            Tree::Zero { inputs, .. } | Tree::VCat(_, inputs) => *inputs,
            Tree::Scale { size, .. } => *size,
            Tree::Compose(_, first) => first.inputs(),
            Tree::Sum(left, _) => left.inputs(),
            Tree::HCat(maps, _) => maps.iter().map(Tree::inputs).sum(),
            Tree::Transpose(map) => map.outputs(),
        }
    }

    fn outputs(&self) -> usize {
        match self {
            Tree::Zero { outputs, .. } | Tree::HCat(_, outputs) => *outputs,
            Tree::Scale { size, .. } => *size,
            Tree::Compose(last, _) => last.outputs(),
            Tree::Sum(left, _) => left.outputs(),
            Tree::VCat(maps, _) => maps.iter().map(Tree::outputs).sum(),
            Tree::Transpose(map) => map.inputs(),
        }
    }

    fn zero(outputs: usize, inputs: usize) -> Tree {
        Tree::Zero { outputs, inputs }
    }

    fn one(size: usize) -> Tree {
        Tree::Scale { factor: None, size }
    }

    fn scale(factor: f64, size: usize) -> Tree {
        Tree::Scale { factor: Some(factor), size }
    }

    fn compose(last: &Tree, first: &Tree) -> Tree {
        Tree::Compose(Rc::new(last.clone()), Rc::new(first.clone()))
    }

    fn sum(left: &Tree, right: &Tree) -> Tree {
        Tree::Sum(Rc::new(left.clone()), Rc::new(right.clone()))
    }

    fn vcat(maps: &[Tree], inputs: usize) -> Tree {
        Tree::VCat(maps.into(), inputs)
    }

    fn hcat(maps: &[Tree], outputs: usize) -> Tree {
        Tree::HCat(maps.into(), outputs)
    }

    fn transpose(&self) -> Tree {
        Tree::Transpose(Rc::new(self.clone()))
    }

    fn apply(&self, x: &[f64]) -> Vec<f64> {
        match self {
            Tree::Zero { outputs, .. } => vec![0.0; *outputs],
            Tree::Scale { factor: None, .. } => x.to_vec(),
            Tree::Scale { factor: Some(factor), .. } => x.iter().map(|x| factor * x).collect(),
            Tree::Compose(last, first) => last.apply(&first.apply(x)),
            Tree::Sum(left, right) => added(&left.apply(x), &right.apply(x)),
            Tree::VCat(maps, _) => maps.iter().flat_map(|map| map.apply(x)).collect(),
            Tree::HCat(maps, outputs) => {
                let lengths: Vec<usize> = maps.iter().map(Tree::inputs).collect();
                let parts = maps.iter().zip(pieces(x, &lengths)).map(|(map, piece)| map.apply(piece));
                parts.fold(vec![0.0; *outputs], |sum, part| added(&sum, &part))
            }
            Tree::Transpose(map) => map.apply_reverse(x),
        }
    }

    fn apply_reverse(&self, r: &[f64]) -> Vec<f64> {
        match self {
            Tree::Zero { inputs, .. } => vec![0.0; *inputs],
            Tree::Scale { .. } => self.apply(r),
            Tree::Compose(last, first) => first.apply_reverse(&last.apply_reverse(r)),
            Tree::Sum(left, right) => added(&left.apply_reverse(r), &right.apply_reverse(r)),
            Tree::VCat(maps, inputs) => {
                let lengths: Vec<usize> = maps.iter().map(Tree::outputs).collect();
                let parts = maps.iter().zip(pieces(r, &lengths)).map(|(map, piece)| map.apply_reverse(piece));
                parts.fold(vec![0.0; *inputs], |sum, part| added(&sum, &part))
            }
            Tree::HCat(maps, _) => maps.iter().flat_map(|map| map.apply_reverse(r)).collect(),
            Tree::Transpose(map) => map.apply(r),
        }
    }
}
