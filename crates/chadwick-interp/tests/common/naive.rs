//! The plainest evaluator of Core there is: no registers, no sharing, no updates in place, no derivatives.
#![allow(dead_code, clippy::allow_attributes, reason = "each test file uses a part of this")]

use chadwick_core::prim::eval;
use chadwick_core::*;
use std::collections::HashMap;
use std::rc::Rc;

#[derive(Clone, Debug, PartialEq)]
pub enum Plain {
    Scalar(Const),
    Array { shape: Vec<i64>, elements: Vec<Plain> },
    Sum(u32, Vec<Plain>),
    Function(Closure),
    Accumulator(usize),
}

#[derive(Clone, Debug)]
pub struct Closure {
    lambda: Rc<Lambda>,
    env: Rc<HashMap<Var, Plain>>,
}

impl PartialEq for Closure {
    fn eq(&self, _: &Closure) -> bool {
        true
    }
}

/// Evaluation fails with `None` on any run-time error.
pub struct Naive<'p> {
    program: &'p Program,
    accumulators: Vec<Plain>,
}

type Env = HashMap<Var, Plain>;

impl Plain {
    fn i64(&self) -> i64 {
        match self {
            Plain::Scalar(Const::I64(value)) => *value,
            other => panic!("no i64: {other:?}"),
        }
    }

    fn bool(&self) -> bool {
        matches!(self, Plain::Scalar(Const::Bool(true)))
    }

    fn parts(&self) -> (&[i64], &[Plain]) {
        match self {
            Plain::Array { shape, elements } => (shape, elements),
            other => panic!("no array: {other:?}"),
        }
    }
}

/// An array of equal parts: scalars, or arrays of one shape.
fn stack(outer: Vec<i64>, parts: Vec<Plain>) -> Option<Plain> {
    let inner = match parts.first() {
        Some(Plain::Array { shape, .. }) => shape.clone(),
        _ => Vec::new(),
    };
    let mut elements = Vec::new();
    for part in parts {
        match part {
            Plain::Array { shape, elements: more } if shape == inner => elements.extend(more),
            Plain::Array { .. } => return None,
            scalar => elements.push(scalar),
        }
    }
    Some(Plain::Array { shape: [outer, inner].concat(), elements })
}

fn position(shape: &[i64], indices: &[i64]) -> Option<usize> {
    let mut at = 0;
    for (dim, index) in shape.iter().zip(indices) {
        if *index < 0 || index >= dim {
            return None;
        }
        at = at * dim + index;
    }
    Some(at as usize)
}

fn index(array: &Plain, indices: &[i64]) -> Option<Plain> {
    let (shape, elements) = array.parts();
    let at = position(shape, indices)?;
    let inner = shape[indices.len()..].to_vec();
    let count = inner.iter().product::<i64>() as usize;
    Some(match inner.is_empty() {
        true => elements[at].clone(),
        false => Plain::Array { elements: elements[at * count..(at + 1) * count].to_vec(), shape: inner },
    })
}

fn write(array: &Plain, indices: &[i64], value: &Plain) -> Option<Plain> {
    let (shape, elements) = array.parts();
    let at = position(shape, indices)?;
    let count = shape[indices.len()..].iter().product::<i64>() as usize;
    let mut elements = elements.to_vec();
    match value {
        Plain::Array { elements: new, .. } => elements[at * count..(at + 1) * count].clone_from_slice(new),
        scalar => elements[at] = scalar.clone(),
    }
    Some(Plain::Array { shape: shape.to_vec(), elements })
}

fn points(sizes: &[i64]) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for size in sizes {
        all = all.iter().flat_map(|before| (0..*size).map(move |at| [&before[..], &[at]].concat())).collect();
    }
    all
}

impl<'p> Naive<'p> {
    pub fn new(program: &'p Program) -> Self {
        Naive { program, accumulators: Vec::new() }
    }

    pub fn call(&mut self, function: FunctionId, args: Vec<Plain>) -> Option<Vec<Plain>> {
        let function = &self.program.functions[function.0 as usize];
        let mut env: Env = function.params.iter().map(|param| param.var).zip(args).collect();
        self.block(&function.body, &mut env)
    }

    fn atom(&self, atom: &Atom, env: &Env) -> Plain {
        match atom {
            Atom::Var(var) => env[var].clone(),
            Atom::Const(constant) => Plain::Scalar(*constant),
        }
    }

    fn atoms(&self, atoms: &[Atom], env: &Env) -> Vec<Plain> {
        atoms.iter().map(|atom| self.atom(atom, env)).collect()
    }

    fn ints(&self, atoms: &[Atom], env: &Env) -> Vec<i64> {
        atoms.iter().map(|atom| self.atom(atom, env).i64()).collect()
    }

    fn block(&mut self, block: &Block, env: &mut Env) -> Option<Vec<Plain>> {
        for statement in &block.statements {
            let values = self.op(&statement.op, env)?;
            assert_eq!(values.len(), statement.binders.len());
            env.extend(statement.binders.iter().map(|binder| binder.var).zip(values));
        }
        Some(self.atoms(&block.results, env))
    }

    fn apply(&mut self, lambda: &Lambda, env: &Env, args: Vec<Plain>) -> Option<Vec<Plain>> {
        let mut env = env.clone();
        env.extend(lambda.params.iter().map(|param| param.var).zip(args));
        self.block(&lambda.body, &mut env)
    }

    fn at(&mut self, space: &[Axis], point: &[i64], body: &Block, env: &Env) -> Option<Vec<Plain>> {
        let mut env = env.clone();
        env.extend(space.iter().zip(point).map(|(axis, at)| (axis.var, Plain::Scalar(Const::I64(*at)))));
        self.block(body, &mut env)
    }

    fn space(&self, space: &[Axis], env: &Env) -> Vec<i64> {
        space.iter().map(|axis| self.atom(&axis.size, env).i64().max(0)).collect()
    }

    fn op(&mut self, op: &Op, env: &mut Env) -> Option<Vec<Plain>> {
        Some(match op {
            Op::Copy(atoms) | Op::Trace { args: atoms, .. } => self.atoms(atoms, env),
            Op::Prim(prim, args) => {
                let args: Vec<Const> = self
                    .atoms(args, env)
                    .into_iter()
                    .map(|arg| match arg {
                        Plain::Scalar(constant) => constant,
                        other => panic!("{other:?}"),
                    })
                    .collect();
                vec![Plain::Scalar(eval(*prim, &args).ok()?)]
            }
            Op::If { condition, then, otherwise } => {
                let block = if self.atom(condition, env).bool() { then } else { otherwise };
                self.block(block, &mut env.clone())?
            }
            Op::Call { function, args } => self.call(*function, self.atoms(args, env))?,
            Op::Closure(lambda) => {
                vec![Plain::Function(Closure { lambda: Rc::new(lambda.clone()), env: Rc::new(env.clone()) })]
            }
            Op::Apply { function, args } => match self.atom(function, env) {
                Plain::Function(closure) => self.apply(&closure.lambda, &closure.env, self.atoms(args, env))?,
                other => panic!("{other:?}"),
            },
            Op::Construct { tag, args, .. } => vec![Plain::Sum(*tag, self.atoms(args, env))],
            Op::Match { scrutinee, arms, otherwise } => {
                let Plain::Sum(tag, fields) = self.atom(scrutinee, env) else { panic!("no sum") };
                let mut env = env.clone();
                match arms.iter().find(|arm| arm.tag == tag) {
                    Some(arm) => {
                        env.extend(arm.binders.iter().map(|binder| binder.var).zip(fields));
                        self.block(&arm.body, &mut env)?
                    }
                    None => self.block(otherwise.as_ref()?, &mut env)?,
                }
            }
            Op::Build { space, body, .. } => {
                let sizes = self.space(space, env);
                let mut columns = vec![Vec::new(); body.results.len()];
                for point in points(&sizes) {
                    let values = self.at(space, &point, body, env)?;
                    columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
                }
                columns.into_iter().map(|column| stack(sizes.clone(), column)).collect::<Option<Vec<Plain>>>()?
            }
            Op::Reduce { space, op, neutral, body, .. } => {
                let mut sum = self.atoms(neutral, env);
                for point in points(&self.space(space, env)) {
                    let element = self.at(space, &point, body, env)?;
                    sum = self.apply(op, env, [sum, element].concat())?;
                }
                sum
            }
            Op::Scan { axis, op, neutral, body } => {
                let space = std::slice::from_ref(axis);
                let sizes = self.space(space, env);
                let mut sum = self.atoms(neutral, env);
                let mut columns = vec![Vec::new(); sum.len()];
                for point in points(&sizes) {
                    let element = self.at(space, &point, body, env)?;
                    sum = self.apply(op, env, [sum, element].concat())?;
                    columns.iter_mut().zip(&sum).for_each(|(column, value)| column.push(value.clone()));
                }
                columns.into_iter().map(|column| stack(sizes.clone(), column)).collect::<Option<Vec<Plain>>>()?
            }
            Op::Hist { space, dest, rank, op, body, .. } => {
                let mut dest = self.atoms(dest, env);
                for point in points(&self.space(space, env)) {
                    let values = self.at(space, &point, body, env)?;
                    let at: Vec<i64> = values[..*rank].iter().map(Plain::i64).collect();
                    if position(dest[0].parts().0, &at).is_none() {
                        continue;
                    }
                    let old = dest.iter().map(|dest| index(dest, &at)).collect::<Option<Vec<Plain>>>()?;
                    let new = self.apply(op, env, [old, values[*rank..].to_vec()].concat())?;
                    for (dest, new) in dest.iter_mut().zip(&new) {
                        *dest = write(dest, &at, new)?;
                    }
                }
                dest
            }
            Op::Scatter { space, dest, rank, body } => {
                let mut dest = self.atoms(dest, env);
                for point in points(&self.space(space, env)) {
                    let values = self.at(space, &point, body, env)?;
                    let at: Vec<i64> = values[..*rank].iter().map(Plain::i64).collect();
                    for (dest, new) in dest.iter_mut().zip(&values[*rank..]) {
                        if let Some(written) = write(dest, &at, new) {
                            *dest = written;
                        }
                    }
                }
                dest
            }
            Op::Loop(the_loop) => self.loop_op(the_loop, env)?,
            Op::Assert { condition, .. } => self.atom(condition, env).bool().then(Vec::new)?,
            Op::Par { left, right } => {
                let left = self.block(left, &mut env.clone())?;
                [left, self.block(right, &mut env.clone())?].concat()
            }
            Op::Recompute(block) => self.block(block, &mut env.clone())?,
            Op::WithAccumulators { handles, init, body } => {
                let first = self.accumulators.len();
                self.accumulators.extend(self.atoms(init, env));
                let mut env = env.clone();
                env.extend(handles.iter().enumerate().map(|(at, handle)| (handle.var, Plain::Accumulator(first + at))));
                let results = self.block(body, &mut env)?;
                [self.accumulators.split_off(first), results].concat()
            }
            Op::Accumulate { handle, path, value } => {
                let Plain::Accumulator(at) = self.atom(handle, env) else { panic!("no accumulator") };
                let value = self.atom(value, env);
                let whole = self.accumulators[at].clone();
                self.accumulators[at] = match path.first() {
                    None => add(&whole, &value),
                    Some(PathStep::Index(indices)) => {
                        let indices = self.ints(indices, env);
                        let part = index(&whole, &indices)?;
                        write(&whole, &indices, &add(&part, &value))?
                    }
                    Some(_) => panic!("a path the tests do not make"),
                };
                Vec::new()
            }
            _ => vec![self.array_op(op, env)?],
        })
    }

    fn array_op(&mut self, op: &Op, env: &Env) -> Option<Plain> {
        match op {
            Op::ArrayLiteral { elements, .. } => stack(vec![elements.len() as i64], self.atoms(elements, env)),
            Op::Index { array, indices } => index(&self.atom(array, env), &self.ints(indices, env)),
            Op::Slice { array, dims } => {
                let array = self.atom(array, env);
                let mut parts = Vec::new();
                let [SliceDim::Range { start, count, stride }] = &dims[..] else { panic!("a slice the tests do not make") };
                let (start, count, stride) =
                    (self.atom(start, env).i64(), self.atom(count, env).i64(), self.atom(stride, env).i64());
                for at in 0..count {
                    parts.push(index(&array, &[start + at * stride])?);
                }
                let inner = array.parts().0[1..].to_vec();
                match parts.is_empty() {
                    true => Some(Plain::Array { shape: [vec![0], inner].concat(), elements: Vec::new() }),
                    false => stack(vec![count], parts),
                }
            }
            Op::Update { array, dims, value } => {
                let indices: Vec<Atom> = dims
                    .iter()
                    .map(|dim| match dim {
                        SliceDim::Index(index) => index.clone(),
                        SliceDim::Range { .. } => panic!("an update the tests do not make"),
                    })
                    .collect();
                write(&self.atom(array, env), &self.ints(&indices, env), &self.atom(value, env))
            }
            Op::Transpose { array, permutation } => {
                let array = self.atom(array, env);
                let (shape, _) = array.parts();
                let sizes: Vec<i64> = permutation.iter().map(|axis| shape[*axis]).collect();
                let mut elements = Vec::new();
                for point in points(&sizes) {
                    let mut source = vec![0; point.len()];
                    permutation.iter().zip(&point).for_each(|(axis, at)| source[*axis] = *at);
                    elements.push(index(&array, &source)?);
                }
                Some(Plain::Array { shape: sizes, elements })
            }
            Op::Reshape { array, dims } => {
                let array = self.atom(array, env);
                let shape = self.ints(dims, env);
                let count: i64 = shape.iter().product();
                let (_, elements) = array.parts();
                (count == elements.len() as i64).then(|| Plain::Array { shape, elements: elements.to_vec() })
            }
            Op::Concat { arrays } => {
                let arrays = self.atoms(arrays, env);
                let outer = arrays.iter().map(|array| array.parts().0[0]).sum();
                let elements = arrays.iter().flat_map(|array| array.parts().1.to_vec()).collect();
                let inner = arrays[0].parts().0[1..].to_vec();
                Some(Plain::Array { shape: [vec![outer], inner].concat(), elements })
            }
            Op::Dim { array, axis } => Some(Plain::Scalar(Const::I64(self.atom(array, env).parts().0[*axis]))),
            other => panic!("an operation the tests do not make: {other:?}"),
        }
    }

    fn loop_op(&mut self, the_loop: &Loop, env: &Env) -> Option<Vec<Plain>> {
        let mut carry = self.atoms(&the_loop.initial, env);
        let mut emitted = vec![Vec::new(); the_loop.emits.len()];
        let mut trips = 0i64;
        loop {
            let mut env = env.clone();
            env.extend(the_loop.carry.iter().map(|binder| binder.var).zip(carry.clone()));
            let more = match &the_loop.form {
                LoopForm::For { index, bound } => {
                    let bound = self.atom(bound, &env).i64();
                    env.insert(index.var, Plain::Scalar(Const::I64(trips)));
                    trips < bound
                }
                LoopForm::While { condition } => self.block(condition, &mut env.clone())?[0].bool(),
            };
            if !more {
                break;
            }
            let mut results = self.block(&the_loop.body, &mut env)?;
            let emits = results.split_off(carry.len());
            emitted.iter_mut().zip(emits).for_each(|(column, value)| column.push(value));
            carry = results;
            trips += 1;
        }
        if the_loop.counted {
            carry.push(Plain::Scalar(Const::I64(trips)));
        }
        for column in emitted {
            carry.push(stack(vec![trips], column)?);
        }
        Some(carry)
    }
}

fn add(left: &Plain, right: &Plain) -> Plain {
    match (left, right) {
        (Plain::Scalar(x), Plain::Scalar(y)) => {
            Plain::Scalar(eval(PrimOp::Binary(BinaryOp::Add, x.prim()), &[*x, *y]).expect("a sum"))
        }
        (Plain::Array { shape, elements: a }, Plain::Array { elements: b, .. }) => {
            Plain::Array { shape: shape.clone(), elements: a.iter().zip(b).map(|(a, b)| add(a, b)).collect() }
        }
        other => panic!("{other:?}"),
    }
}
