//! Random terms of the array language. Reads are in range or not wanted, so that every way to run a term must give the same.

use super::super::algebra::extents;
use super::super::program::Program;
use super::super::term::{
    Elementwise, IndexFunction, Name, Names, Reads, Step, Term, Tree, bind, build, elementwise, failure, fold, gather, guarded,
    index, index_var, iota, outer, overwrite, reduce_outer, replicate, reshape, scatter, stack, sum_outer, transpose, var,
    var_like,
};
use chadwick_core::{Atom, BinaryOp, CompareOp, Const, Prim, PrimOp, UnaryOp};
use chadwick_generate::Random;
use std::rc::Rc;

#[derive(Clone)]
struct Variable {
    tree: Tree,
    prim: Prim,
    shape: Vec<usize>,
}

struct Generator {
    random: Random,
    names: Names,
    arrays: Vec<Variable>,
    /// Index variables, and what they are below.
    indices: Vec<(Name, usize)>,
}

/// No array has more elements, but for a long input.
const LARGEST: usize = 96;

/// The program of a number.
pub fn program(seed: u64) -> Program {
    let mut generator = Generator { random: Random::new(seed), names: Names::default(), arrays: Vec::new(), indices: Vec::new() };
    let mut inputs = Vec::new();
    for number in 0..generator.random.between(1, 3) {
        let prim = if number > 0 && generator.random.chance(25) { Prim::I64 } else { Prim::F64 };
        let shape = match generator.random.below(8) {
            0 => vec![300],
            _ => generator.shape(3),
        };
        let name = generator.names.fresh();
        let tree = var(name, prim, extents(&shape));
        inputs.push((name, tree.clone()));
        generator.arrays.push(Variable { tree, prim, shape });
    }
    let shape = generator.shape(2);
    let depth = generator.random.between(3, 8) as usize;
    let body = generator.array(Prim::F64, &shape, depth);
    Program { names: generator.names, inputs, bindings: Vec::new(), results: vec![body] }
}

impl Generator {
    fn extent(&mut self) -> usize {
        match self.random.chance(3) {
            true => 0,
            false => self.random.between(1, 5) as usize,
        }
    }

    fn shape(&mut self, rank: usize) -> Vec<usize> {
        let rank = self.random.below(rank + 1);
        (0..rank).map(|_| self.extent()).collect()
    }

    /// Some axes that are not empty, such that there is room for them before others.
    fn front(&mut self, rest: &[usize], most: usize) -> Vec<usize> {
        let rank = self.random.below(most + 1);
        let mut front = Vec::new();
        for _ in 0..rank {
            let extent = self.random.between(1, 5) as usize;
            if front.iter().chain(rest).product::<usize>() * extent <= LARGEST {
                front.push(extent);
            }
        }
        front
    }

    fn reads(&mut self) -> Reads {
        if self.random.chance(30) { Reads::Total } else { Reads::Checked(Vec::new()) }
    }

    fn constant(&mut self, prim: Prim) -> Const {
        match prim {
            Prim::F64 => Const::F64(f64::from(self.random.between(-4, 4) as i32) / 2.0),
            Prim::Bool => Const::Bool(self.random.chance(50)),
            prim => Const::from_i128(prim, i128::from(self.random.between(-3, 6))),
        }
    }

    fn leaf(&mut self, prim: Prim, shape: &[usize]) -> Tree {
        let fitting: Vec<Variable> =
            self.arrays.iter().filter(|variable| variable.prim == prim && variable.shape == shape).cloned().collect();
        let index = (prim == Prim::I64 && shape.is_empty() && !self.indices.is_empty()).then(|| *self.random.pick(&self.indices));
        match index {
            Some((name, _)) if self.random.chance(70) => index_var(name),
            _ if !fitting.is_empty() && self.random.chance(80) => self.random.pick(&fitting).tree.clone(),
            _ => {
                let constant = self.constant(prim);
                let scalar = outer(Atom::Const(constant), prim, Vec::new());
                extents(shape).into_iter().rev().fold(scalar, |all, extent| replicate(extent, all))
            }
        }
    }

    fn array(&mut self, prim: Prim, shape: &[usize], depth: usize) -> Tree {
        if depth == 0 {
            return self.leaf(prim, shape);
        }
        let depth = depth - 1;
        match self.random.below(24) {
            0 => self.leaf(prim, shape),
            1 | 2 => self.arithmetic(prim, shape, depth),
            3 => {
                let args = [Prim::Bool, prim, prim].map(|prim| self.array(prim, shape, depth));
                elementwise(Elementwise::Select, args.to_vec())
            }
            4 | 5 => self.binding(prim, shape, depth),
            6..=8 => self.read(prim, shape, depth),
            9 if prim != Prim::Bool => {
                let [front] = self.front(shape, 1)[..] else { return self.array(prim, shape, depth) };
                sum_outer(self.array(prim, &[&[front], shape].concat(), depth))
            }
            10 | 11 => self.gathered(prim, shape, depth),
            12 if prim != Prim::Bool => self.scattered(prim, shape, depth),
            13 if matches!(shape, [1..=4, ..]) => stack((0..shape[0]).map(|_| self.array(prim, &shape[1..], depth)).collect()),
            14 if !shape.is_empty() => replicate(Atom::i64(shape[0] as i64), self.array(prim, &shape[1..], depth)),
            15 if shape.len() > 1 => self.transposed(prim, shape, depth),
            16 if !shape.is_empty() => self.reshaped(prim, shape, depth),
            17..=19 if !shape.is_empty() => self.built(prim, shape, depth),
            20 if prim != Prim::Bool => {
                let front = self.front(shape, 1);
                let op = *self.random.pick(&[BinaryOp::Max, BinaryOp::Min]);
                match front.first() {
                    None => self.leaf(prim, shape),
                    Some(extent) => reduce_outer(op, self.array(prim, &[&[*extent], shape].concat(), depth)),
                }
            }
            21 if shape.first().is_some_and(|states| *states > 0) => self.folded(prim, shape, depth),
            22 => self.guarded(prim, shape, depth),
            23 => self.overwritten(prim, shape, depth),
            _ => self.arithmetic(prim, shape, depth),
        }
    }

    fn arithmetic(&mut self, prim: Prim, shape: &[usize], depth: usize) -> Tree {
        let mut operand = |prim: Prim| self.array(prim, shape, depth);
        match prim {
            Prim::Bool => {
                let args = vec![operand(Prim::I64), operand(Prim::I64)];
                elementwise(Elementwise::Prim(PrimOp::Compare(CompareOp::Less, Prim::I64)), args)
            }
            Prim::F64 => {
                let args = vec![operand(prim), operand(prim)];
                match self.random.below(6) {
                    0 => elementwise(Elementwise::Prim(PrimOp::Unary(UnaryOp::Sin, prim)), args[..1].to_vec()),
                    1 => elementwise(Elementwise::Prim(PrimOp::Unary(UnaryOp::Tanh, prim)), args[..1].to_vec()),
                    2 => {
                        let convert = PrimOp::Convert { from: Prim::I64, to: prim };
                        elementwise(Elementwise::Prim(convert), vec![self.array(Prim::I64, shape, depth)])
                    }
                    at => {
                        let op = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul][at - 3];
                        elementwise(Elementwise::Prim(PrimOp::Binary(op, prim)), args)
                    }
                }
            }
            _ => {
                let op = *self.random.pick(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Min, BinaryOp::Div]);
                let op = PrimOp::Binary(op, prim);
                let (left, right) = (self.array(prim, shape, depth), self.array(prim, shape, depth));
                let right = if failure(op).is_some() { guarded(op, right) } else { right };
                elementwise(Elementwise::Prim(op), vec![left, right])
            }
        }
    }

    fn binding(&mut self, prim: Prim, shape: &[usize], depth: usize) -> Tree {
        let of = if self.random.chance(75) { Prim::F64 } else { Prim::I64 };
        let inner = self.front(&[], 2);
        let value = self.array(of, &inner, depth);
        let name = self.names.fresh();
        self.arrays.push(Variable { tree: var_like(name, &value), prim: of, shape: inner });
        let body = self.array(prim, shape, depth);
        self.arrays.pop();
        bind(name, value, body)
    }

    /// An index below an extent.
    fn index(&mut self, extent: usize, depth: usize) -> Tree {
        let number = |value: usize| outer(Atom::i64(value as i64), Prim::I64, Vec::new());
        let apply = |op, args: Vec<Tree>| elementwise(Elementwise::Prim(PrimOp::Binary(op, Prim::I64)), args);
        let small: Vec<Name> = self.indices.iter().filter(|(_, below)| *below <= extent).map(|(name, _)| *name).collect();
        match self.random.below(8) {
            0..=3 if !small.is_empty() => index_var(*self.random.pick(&small)),
            4 | 5 if !small.is_empty() => {
                let at = index_var(*self.random.pick(&small));
                apply(BinaryOp::Sub, vec![number(extent - 1), at])
            }
            0 => number(self.random.below(extent)),
            1 if depth > 0 => {
                let float = self.array(Prim::F64, &[], depth - 1);
                let bounded = elementwise(Elementwise::Prim(PrimOp::Unary(UnaryOp::Tanh, Prim::F64)), vec![float]);
                let three = outer(Atom::Const(Const::F64(3.0)), Prim::F64, Vec::new());
                let scaled = elementwise(Elementwise::Prim(PrimOp::Binary(BinaryOp::Mul, Prim::F64)), vec![bounded, three]);
                let whole = elementwise(Elementwise::Prim(PrimOp::Convert { from: Prim::F64, to: Prim::I64 }), vec![scaled]);
                apply(BinaryOp::Mod, vec![whole, number(extent)])
            }
            _ => {
                let any = self.array(Prim::I64, &[], depth.min(2));
                apply(BinaryOp::Mod, vec![any, number(extent)])
            }
        }
    }

    fn read(&mut self, prim: Prim, shape: &[usize], depth: usize) -> Tree {
        // Preferably of something with a name.
        let is_row = |variable: &&Variable| {
            let rank = variable.shape.len();
            variable.prim == prim && rank > shape.len() && variable.shape.ends_with(shape) && !variable.shape.contains(&0)
        };
        let named: Vec<Variable> = self.arrays.iter().filter(is_row).cloned().collect();
        let (base, front) = match named.is_empty() || self.random.chance(40) {
            false => {
                let variable = self.random.pick(&named).clone();
                let rank = variable.shape.len() - shape.len();
                (variable.tree, variable.shape[..rank].to_vec())
            }
            true => {
                let front = self.front(shape, 2);
                (self.array(prim, &[&front, shape].concat(), depth), front)
            }
        };
        let indices = front.iter().map(|extent| self.index(*extent, depth)).collect();
        index(base, indices, self.reads())
    }

    /// A read that may be out of range, and is not selected then.
    fn guarded(&mut self, prim: Prim, shape: &[usize], depth: usize) -> Tree {
        let extent = self.random.between(1, 4) as usize;
        let base = self.array(prim, &[&[extent], shape].concat(), depth);
        let beyond = self.index(extent + 3, depth);
        let (name, number) = (self.names.fresh(), |value: usize| outer(Atom::i64(value as i64), Prim::I64, Vec::new()));
        let apply = |op: PrimOp, args: Vec<Tree>| elementwise(Elementwise::Prim(op), args);
        let less = |left: Tree, right: Tree| apply(PrimOp::Compare(CompareOp::Less, Prim::I64), vec![left, right]);
        let at = apply(PrimOp::Binary(BinaryOp::Sub, Prim::I64), vec![index_var(name), number(2)]);
        let inside = vec![less(number(1), index_var(name)), less(index_var(name), number(extent + 2))];
        let inside = apply(PrimOp::Binary(BinaryOp::And, Prim::Bool), inside);
        let inside = extents(shape).into_iter().rev().fold(inside, |all, extent| replicate(extent, all));
        let otherwise = self.array(prim, shape, depth);
        let chosen = elementwise(Elementwise::Select, vec![inside, index(base, vec![at], Reads::Total), otherwise]);
        bind(name, beyond, chosen)
    }

    /// One place, or a stretch in reverse; perhaps out of range.
    fn overwritten(&mut self, prim: Prim, shape: &[usize], depth: usize) -> Tree {
        let base = self.array(prim, shape, depth);
        let rank = shape.iter().take_while(|extent| **extent > 0).count();
        if rank == 0 {
            return base;
        }
        let (is_total, beyond) = if self.random.chance(40) { (true, 2) } else { (false, 0) };
        if self.random.chance(50) {
            let (front, rest) = shape.split_at(self.random.between(1, rank as i64) as usize);
            let indices = front.iter().map(|extent| self.index(extent + beyond, depth)).collect();
            let value = self.array(prim, rest, depth);
            return overwrite(base, IndexFunction { params: Vec::new(), indices }, value, is_total);
        }
        let count = self.random.between(1, shape[0] as i64) as usize;
        let value = self.array(prim, &[&[count], &shape[1..]].concat(), depth);
        let (param, last) = (self.names.fresh(), outer(Atom::i64((shape[0] - 1 + beyond) as i64), Prim::I64, Vec::new()));
        let backwards = Elementwise::Prim(PrimOp::Binary(BinaryOp::Sub, Prim::I64));
        let indices = vec![elementwise(backwards, vec![last, index_var(param)])];
        overwrite(base, IndexFunction { params: vec![param], indices }, value, is_total)
    }

    fn function(&mut self, domain: &[usize], range: &[usize], depth: usize) -> IndexFunction {
        let params: Vec<Name> = domain.iter().map(|_| self.names.fresh()).collect();
        self.indices.extend(params.iter().copied().zip(domain.iter().copied()));
        let indices = range.iter().map(|extent| self.index(*extent, depth.min(2))).collect();
        self.indices.truncate(self.indices.len() - domain.len());
        IndexFunction { params, indices }
    }

    fn gathered(&mut self, prim: Prim, shape: &[usize], depth: usize) -> Tree {
        let (domain, rest) = shape.split_at(self.random.below(shape.len() + 1));
        let front = self.front(rest, 2);
        let base = self.array(prim, &[&front, rest].concat(), depth);
        let function = self.function(domain, &front, depth);
        gather(extents(shape), base, function, self.reads())
    }

    fn scattered(&mut self, prim: Prim, shape: &[usize], depth: usize) -> Tree {
        let rank = shape.iter().take_while(|extent| **extent > 0).count();
        let (range, rest) = shape.split_at(self.random.below(rank + 1));
        let front = self.front(rest, 2);
        let of = self.array(prim, &[&front, rest].concat(), depth);
        // What is written out of range is dropped.
        let beyond = if self.random.chance(40) { 2 } else { 0 };
        let places: Vec<usize> = range.iter().map(|extent| extent + beyond).collect();
        let function = self.function(&front, &places, depth);
        scatter(extents(shape), of, function)
    }

    fn folded(&mut self, prim: Prim, shape: &[usize], depth: usize) -> Tree {
        let (states, inner) = (shape[0], &shape[1..]);
        let init = self.array(prim, inner, depth);
        let mut arrays = Vec::new();
        let mut scope = vec![Variable { tree: var(self.names.fresh(), prim, extents(inner)), prim, shape: inner.to_vec() }];
        let mut rows = Vec::new();
        for _ in 0..self.random.between(1, 2) {
            let prim = if self.random.chance(80) { Prim::F64 } else { Prim::I64 };
            let row_shape = self.front(&[states], 1);
            arrays.push(self.array(prim, &[&[states - 1], &row_shape[..]].concat(), depth));
            let name = self.names.fresh();
            let tree = var(name, prim, extents(&row_shape));
            rows.push((name, tree.clone()));
            scope.push(Variable { tree, prim, shape: row_shape });
        }
        let Term::Var(state) = scope[0].tree.term else { return init };
        let around = (std::mem::replace(&mut self.arrays, scope), std::mem::take(&mut self.indices));
        let body = self.array(prim, inner, depth.min(3));
        (self.arrays, self.indices) = around;
        let (names, bindings, gives) = (self.names.clone(), Vec::new(), Vec::new());
        let step = Step { names, state, rows, bindings, body, gives, is_backward: self.random.chance(30) };
        fold(Atom::i64(states as i64), Rc::new(step), init, arrays)
    }

    fn transposed(&mut self, prim: Prim, shape: &[usize], depth: usize) -> Tree {
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        for at in (1..axes.len()).rev() {
            let other = self.random.below(at + 1);
            axes.swap(at, other);
        }
        let mut source = vec![0; shape.len()];
        axes.iter().zip(shape).for_each(|(axis, extent)| source[*axis] = *extent);
        transpose(&axes, self.array(prim, &source, depth))
    }

    fn reshaped(&mut self, prim: Prim, shape: &[usize], depth: usize) -> Tree {
        let count = shape.iter().product();
        let source = match (2..=count / 2).find(|factor| count % factor == 0) {
            Some(factor) if self.random.chance(60) => vec![count / factor, factor],
            _ => vec![count],
        };
        reshape(extents(shape), self.array(prim, &source, depth))
    }

    fn built(&mut self, prim: Prim, shape: &[usize], depth: usize) -> Tree {
        if prim == Prim::I64 && shape.len() == 1 && self.random.chance(20) {
            return iota(Atom::i64(shape[0] as i64));
        }
        let name = self.names.fresh();
        self.indices.push((name, shape[0]));
        let body = self.array(prim, &shape[1..], depth);
        self.indices.pop();
        build(Atom::i64(shape[0] as i64), name, body)
    }
}
