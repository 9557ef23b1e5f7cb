//! Random well-typed Core over wrapping `i64`: scalars, vectors of length 3, matrices, sums, functions.
#![allow(dead_code, clippy::allow_attributes, reason = "each test file uses a part of this")]

use chadwick_core::*;
use chadwick_source::Span;

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

const SIZE: i64 = 3;

pub fn scalar() -> Type {
    Type::I64
}

pub fn vector() -> Type {
    Type::I64.array([Dim::Any])
}

fn matrix() -> Type {
    Type::I64.array([Dim::Any, Dim::Any])
}

fn sum() -> Type {
    let constructor = |name: &str, payload: Vec<Type>| Constructor { name: name.into(), payload };
    Type::Sum([constructor("a", vec![vector(), scalar()]), constructor("b", vec![scalar()]), constructor("c", vec![])].into())
}

fn function() -> Type {
    Type::Function(FunctionType { params: vec![scalar(), vector()], results: vec![vector()] }.into())
}

pub struct Generator<'a, 'p> {
    pub b: &'a mut Builder<'p>,
    pub random: Random,
    /// Variables in scope.
    scope: Vec<(Type, Atom)>,
    depth: usize,
    /// Functions that may be called: from a scalar and a vector to a vector.
    pub callable: Vec<FunctionId>,
}

impl<'a, 'p> Generator<'a, 'p> {
    pub fn new(b: &'a mut Builder<'p>, seed: u64, callable: Vec<FunctionId>) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            random.next();
        }
        Generator { b, random, scope: Vec::new(), depth: 0, callable }
    }

    pub fn declare(&mut self, binder: &Binder) {
        self.scope.push((binder.ty.clone(), Atom::Var(binder.var)));
    }

    fn emit(&mut self, op: Op) -> Vec<Atom> {
        let types = self.b.result_types(&op).unwrap_or_else(|error| panic!("{error}: {op:?}"));
        // Types in scope say nothing about sizes.
        let types: Vec<Type> = types.into_iter().map(forget_sizes).collect();
        let atoms = self.b.push(op, types.clone(), Span::default());
        self.scope.extend(types.into_iter().zip(atoms.iter().cloned()));
        atoms
    }

    fn one(&mut self, op: Op) -> Atom {
        self.emit(op).swap_remove(0)
    }

    fn prim(&mut self, op: BinaryOp, x: Atom, y: Atom) -> Atom {
        self.one(Op::Prim(PrimOp::Binary(op, Prim::I64), vec![x, y]))
    }

    /// A value of the type: from the scope, or made.
    pub fn value(&mut self, ty: &Type) -> Atom {
        let known: Vec<Atom> = self.scope.iter().filter(|(found, _)| found == ty).map(|(_, atom)| atom.clone()).collect();
        if !known.is_empty() && self.random.below(8) > 0 {
            // Mostly something recent, so that values are used up.
            let back = self.random.below(known.len()).min(self.random.below(known.len()));
            return known[known.len() - 1 - back].clone();
        }
        self.make(ty)
    }

    fn number(&mut self) -> Atom {
        match self.random.below(3) {
            0 => Atom::i64(self.random.below(7) as i64 - 3),
            _ => self.value(&scalar()),
        }
    }

    fn make(&mut self, ty: &Type) -> Atom {
        if *ty == scalar() {
            let k = self.random.below(9) as i64 - 4;
            return Atom::i64(k);
        }
        if *ty == vector() {
            let elements = (0..SIZE).map(|_| self.number()).collect();
            return self.one(Op::ArrayLiteral { ty: scalar(), elements, inner: Vec::new() });
        }
        if *ty == matrix() {
            let elements = (0..SIZE).map(|_| self.value(&vector())).collect();
            return self.one(Op::ArrayLiteral { ty: vector(), elements, inner: vec![Size::FromValue] });
        }
        if *ty == sum() {
            let tag = self.random.below(3) as u32;
            let args = match tag {
                0 => vec![self.value(&vector()), self.value(&scalar())],
                1 => vec![self.value(&scalar())],
                _ => Vec::new(),
            };
            return self.one(Op::Construct { ty: sum(), tag, args });
        }
        let lambda = self.lambda(&[scalar(), vector()], &[vector()]);
        self.one(Op::Closure(lambda))
    }

    /// A block with results of the types, with new variables in scope inside.
    fn block(&mut self, binders: &[Binder], results: &[Type]) -> Block {
        let outside = self.scope.len();
        self.depth += 1;
        self.b.push_block();
        binders.iter().for_each(|binder| self.declare(binder));
        if self.depth < 4 {
            for _ in 0..self.random.below(3) {
                self.statement();
            }
        }
        let results = results.iter().map(|ty| self.value(ty)).collect();
        let block = self.b.pop_block(results);
        self.depth -= 1;
        self.scope.truncate(outside);
        block
    }

    fn lambda(&mut self, params: &[Type], results: &[Type]) -> Lambda {
        let params: Vec<Binder> = params.iter().map(|ty| self.b.param("p", ty.clone())).collect();
        let body = self.block(&params, results);
        Lambda { params, results: results.to_vec(), body }
    }

    fn axis(&mut self) -> (Axis, Binder) {
        let binder = self.b.param("i", scalar());
        (Axis { var: binder.var, size: Atom::i64(SIZE) }, binder)
    }

    fn some_types(&mut self) -> Vec<Type> {
        let all = [scalar(), vector(), vector(), matrix(), sum(), function()];
        (0..1 + self.random.below(2)).map(|_| all[self.random.below(all.len())].clone()).collect()
    }

    /// An index that is in range: a constant, or something modulo the size.
    fn in_range(&mut self) -> Atom {
        match self.random.below(3) {
            0 => {
                let x = self.value(&scalar());
                self.prim(BinaryOp::Mod, x, Atom::i64(SIZE))
            }
            _ => Atom::i64(self.random.below(SIZE as usize) as i64),
        }
    }

    pub fn statement(&mut self) {
        match self.random.below(24) {
            0 | 1 => {
                let op = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Min, BinaryOp::Max][self.random.below(5)];
                let (x, y) = (self.number(), self.number());
                self.prim(op, x, y);
            }
            2 => {
                let (x, y) = (self.number(), self.number());
                let less = self.one(Op::Prim(PrimOp::Compare(CompareOp::Less, Prim::I64), vec![x, y]));
                let types = self.some_types();
                let then = self.block(&[], &types);
                let otherwise = self.block(&[], &types);
                self.emit(Op::If { condition: less, then, otherwise });
            }
            3 => {
                let (axis, binder) = self.axis();
                let body = self.block(&[binder], &[scalar()]);
                self.emit(Op::Build { space: vec![axis], body, inner: vec![Vec::new()] });
            }
            4 => {
                let (axis, binder) = self.axis();
                let body = self.block(&[binder], &[vector(), scalar()]);
                self.emit(Op::Build { space: vec![axis], body, inner: vec![vec![Size::FromValue], Vec::new()] });
            }
            5 => {
                let ((first, i), (second, j)) = (self.axis(), self.axis());
                let body = self.block(&[i, j], &[scalar()]);
                self.emit(Op::Build { space: vec![first, second], body, inner: vec![Vec::new()] });
            }
            6 => {
                let ty = [scalar(), vector()][self.random.below(2)].clone();
                let (axis, binder) = self.axis();
                let neutral = vec![self.value(&ty)];
                let body = self.block(&[binder], std::slice::from_ref(&ty));
                let op = self.lambda(&[ty.clone(), ty.clone()], &[ty]);
                self.emit(Op::Reduce { space: vec![axis], op, neutral, body, commutative: false });
            }
            7 => {
                let ty = [scalar(), vector()][self.random.below(2)].clone();
                let (axis, binder) = self.axis();
                let neutral = vec![self.value(&ty)];
                let body = self.block(&[binder], std::slice::from_ref(&ty));
                let op = self.lambda(&[ty.clone(), ty.clone()], &[ty]);
                self.emit(Op::Scan { axis, op, neutral, body });
            }
            8 => {
                let (dest, value) = [(vector(), scalar()), (matrix(), vector())][self.random.below(2)].clone();
                let (axis, binder) = self.axis();
                let (dest, neutral) = (vec![self.value(&dest)], vec![self.value(&value)]);
                let body = self.block(&[binder], &[scalar(), value.clone()]);
                let op = self.lambda(&[value.clone(), value.clone()], &[value]);
                self.emit(Op::Hist { space: vec![axis], dest, rank: 1, op, neutral, body });
            }
            9 => {
                let (dest, value) = [(vector(), scalar()), (matrix(), vector())][self.random.below(2)].clone();
                let (axis, binder) = self.axis();
                let dest = vec![self.value(&dest)];
                let body = self.block(&[binder], &[scalar(), value]);
                self.emit(Op::Scatter { space: vec![axis], dest, rank: 1, body });
            }
            10 => {
                let (array, at) = (self.value(&vector()), self.in_range());
                self.emit(Op::Index { array, indices: vec![at] });
            }
            11 => {
                let (array, at) = (self.value(&matrix()), self.in_range());
                let mut indices = vec![at];
                if self.random.below(2) == 0 {
                    indices.push(self.in_range());
                }
                self.emit(Op::Index { array, indices });
            }
            12 | 13 => {
                let (array, at, value) = (self.value(&vector()), self.in_range(), self.number());
                self.emit(Op::Update { array, dims: vec![SliceDim::Index(at)], value });
            }
            14 => {
                let (array, at, value) = (self.value(&matrix()), self.in_range(), self.value(&vector()));
                self.emit(Op::Update { array, dims: vec![SliceDim::Index(at)], value });
            }
            15 => {
                let array = self.value(&matrix());
                self.emit(Op::Transpose { array, permutation: vec![1, 0] });
            }
            16 => {
                let ty = [vector(), matrix()][self.random.below(2)].clone();
                let array = self.value(&ty);
                let range = SliceDim::Range { start: Atom::i64(SIZE - 1), count: Atom::i64(SIZE), stride: Atom::i64(-1) };
                self.emit(Op::Slice { array, dims: vec![range] });
            }
            17 | 18 => self.loop_statement(),
            19 => {
                let scrutinee = self.value(&sum());
                let types = self.some_types();
                let mut arms = Vec::new();
                for (tag, payload) in [vec![vector(), scalar()], vec![scalar()], vec![]].into_iter().enumerate() {
                    let binders: Vec<Binder> = payload.into_iter().map(|ty| self.b.param("m", ty)).collect();
                    let body = self.block(&binders, &types);
                    arms.push(Arm { tag: tag as u32, binders, body });
                }
                self.emit(Op::Match { scrutinee, arms, otherwise: None });
            }
            20 => {
                let ty = [vector(), matrix(), sum(), function()][self.random.below(4)].clone();
                let value = self.make(&ty);
                self.emit(Op::Copy(vec![value]));
            }
            21 => {
                let (f, x, y) = (self.value(&function()), self.value(&scalar()), self.value(&vector()));
                self.emit(Op::Apply { function: f, args: vec![x, y] });
            }
            22 => match self.callable.last().copied() {
                Some(function) => {
                    let args = vec![self.value(&scalar()), self.value(&vector())];
                    self.emit(Op::Call { function, args });
                }
                None => {
                    let types = self.some_types();
                    let (left, right) = (self.block(&[], &types), self.block(&[], &types));
                    self.emit(Op::Par { left, right });
                }
            },
            _ => self.accumulate(),
        }
    }

    fn loop_statement(&mut self) {
        let types = self.some_types();
        let initial: Vec<Atom> = types.iter().map(|ty| self.value(ty)).collect();
        let carry: Vec<Binder> = types.iter().map(|ty| self.b.param("c", ty.clone())).collect();
        let mut results = types;
        let mut emits = Vec::new();
        if self.random.below(3) == 0 {
            results.push(scalar());
            emits.push(Vec::new());
        }
        let mut binders = carry.clone();
        let form = match self.random.below(2) {
            0 => {
                let index = self.b.param("k", scalar());
                binders.push(index.clone());
                LoopForm::For { index, bound: Atom::i64(SIZE) }
            }
            _ => {
                // Counted by an extra carry would be needed to end; a constant condition ends at once.
                let condition = self.block(&carry, &[]);
                LoopForm::While { condition: Block { results: vec![Atom::bool(false)], ..condition } }
            }
        };
        let is_while = matches!(form, LoopForm::While { .. });
        if is_while && !emits.is_empty() {
            // No emits: their shape would be the empty one.
            emits.clear();
            results.pop();
        }
        let body = self.block(&binders, &results);
        let the_loop =
            Loop { carry, initial, form, body, emits, counted: self.random.below(2) == 0, hints: LoopHints::default() };
        self.emit(Op::Loop(Box::new(the_loop)));
    }

    fn accumulate(&mut self) {
        let init = self.value(&vector());
        let handle = self.b.param("h", Type::Accumulator(vector().into()));
        let outside = self.scope.len();
        self.depth += 1;
        self.b.push_block();
        for _ in 0..2 {
            let (at, value) = (self.in_range(), self.number());
            let path = vec![PathStep::Index(vec![at])];
            self.emit(Op::Accumulate { handle: handle.var.into(), path, value });
        }
        let whole = self.value(&vector());
        self.emit(Op::Accumulate { handle: handle.var.into(), path: Vec::new(), value: whole });
        let results = vec![self.value(&scalar())];
        let body = self.b.pop_block(results);
        self.depth -= 1;
        self.scope.truncate(outside);
        self.emit(Op::WithAccumulators { handles: vec![handle], init: vec![init], body });
    }
}

fn forget_sizes(ty: Type) -> Type {
    match ty {
        Type::Array(array) => Type::Array(ArrayType { dims: vec![Dim::Any; array.dims.len()], ..array }),
        other => other,
    }
}

/// A function from a scalar and a vector to a vector, pushed onto the program.
pub fn add_function(program: &mut Program, seed: u64, statements: usize) -> FunctionId {
    let callable = (0..program.functions.len() as u32).map(FunctionId).collect();
    let mut b = Builder::new(program);
    let params = vec![b.param("x", scalar()), b.param("v", vector())];
    b.push_block();
    let mut generator = Generator::new(&mut b, seed, callable);
    params.iter().for_each(|param| generator.declare(param));
    for _ in 0..statements {
        generator.statement();
    }
    // Sum up what is at hand, so that much of it matters.
    let mut result = generator.value(&vector());
    for _ in 0..3 {
        let other = generator.value(&vector());
        let (axis, binder) = generator.axis();
        generator.b.push_block();
        let i: Atom = binder.var.into();
        let x = generator.b.emit(Op::Index { array: result, indices: vec![i.clone()] }).expect("typed").swap_remove(0);
        let y = generator.b.emit(Op::Index { array: other, indices: vec![i] }).expect("typed").swap_remove(0);
        let z = generator.b.prim(PrimOp::Binary(BinaryOp::Add, Prim::I64), [x, y]);
        let body = generator.b.pop_block(vec![z]);
        result = generator.one(Op::Build { space: vec![axis], body, inner: vec![Vec::new()] });
    }
    let body = b.pop_block(vec![result]);
    let name = format!("f{}", program.functions.len()).into();
    program.functions.push(Function { name, params, results: vec![vector()], body, span: Span::default() });
    FunctionId(program.functions.len() as u32 - 1)
}
