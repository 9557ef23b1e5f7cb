//! Printing then parsing is the identity, on random terms of every kind; arbitrary text is an error, never a panic.

use chadwick_core::text::{parse, print};
use chadwick_core::*;
use half::f16;

/// A small deterministic generator (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }
}

struct Generator {
    random: Random,
    program: Program,
}

const NAMES: &[&str] =
    &["x", "xs'", "a_1", "weird name", "+", "", "\"quoted\"", "ünï", "return", "f64", "x_", "tab\t\n\u{7}", "_"];

impl Generator {
    fn list<T>(&mut self, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.random.below(3)).map(|_| make(self)).collect()
    }

    fn name(&mut self) -> &'static str {
        NAMES[self.random.below(NAMES.len())]
    }

    fn var(&mut self) -> Var {
        match self.program.var_names.len() {
            0 => self.fresh(),
            count if self.random.flag() => Var(self.random.below(count) as u32),
            _ => self.fresh(),
        }
    }

    fn fresh(&mut self) -> Var {
        let name = self.name();
        self.program.fresh(name)
    }

    fn constant(&mut self) -> Const {
        let bits = match self.random.below(4) {
            0 => f64::NAN.to_bits(),
            1 => f64::NEG_INFINITY.to_bits(),
            2 => self.random.next(),
            _ => (self.random.below(2000) as f64 / 16.0 - 60.0).to_bits(),
        };
        match self.random.below(12) {
            0 => Const::Bool(bits % 2 == 0),
            1 => Const::I8(bits as i8),
            2 => Const::I16(bits as i16),
            3 => Const::I32(bits as i32),
            4 => Const::I64(bits as i64),
            5 => Const::U8(bits as u8),
            6 => Const::U16(bits as u16),
            7 => Const::U32(bits as u32),
            8 => Const::U64(bits),
            9 => Const::F16(f16::from_bits(bits as u16)),
            10 => Const::F32(f32::from_bits(bits as u32)),
            _ => Const::F64(f64::from_bits(bits)),
        }
    }

    fn atom(&mut self) -> Atom {
        match self.random.flag() {
            true => Atom::Var(self.var()),
            false => Atom::Const(self.constant()),
        }
    }

    fn atoms(&mut self) -> Vec<Atom> {
        self.list(Self::atom)
    }

    fn ty(&mut self, depth: usize) -> Type {
        let prim = Prim::ALL[self.random.below(12)];
        if depth == 0 {
            return Type::Prim(prim);
        }
        match self.random.below(7) {
            0 => Type::Prim(prim),
            1 => {
                let mut dims = vec![Dim::Any];
                dims.extend(self.list(|g| if g.random.flag() { Dim::Any } else { Dim::Const(g.random.below(9) as i64) }));
                let element = match self.random.below(3) {
                    0 => Element::Prim(prim),
                    1 => Element::Unit,
                    _ => match self.ty(depth - 1) {
                        Type::Array(_) | Type::Prim(_) => Element::Prim(prim),
                        other => Element::Boxed(other.into()),
                    },
                };
                Type::Array(ArrayType { element, dims })
            }
            2 => {
                let mut constructors = self.constructors(depth - 1);
                constructors.truncate(3);
                Type::Sum(constructors.into())
            }
            3 => Type::Named(TypeId(self.random.below(2) as u32)),
            4 => {
                let (params, results) = (self.list(|g| g.ty(depth - 1)), self.list(|g| g.ty(depth - 1)));
                Type::Function(FunctionType { params, results }.into())
            }
            5 => Type::Accumulator(self.ty(depth - 1).into()),
            _ => {
                let indices = self.random.below(3);
                Type::Log(LogType { indices, values: self.list(|g| g.ty(depth - 1)) }.into())
            }
        }
    }

    fn constructors(&mut self, depth: usize) -> Vec<Constructor> {
        (0..1 + self.random.below(3))
            .map(|_| {
                let name = self.name().into();
                Constructor { name, payload: self.list(|g| g.ty(depth)) }
            })
            .collect()
    }

    fn binder(&mut self) -> Binder {
        Binder { var: self.fresh(), ty: self.ty(2) }
    }

    fn binders(&mut self) -> Vec<Binder> {
        self.list(Self::binder)
    }

    fn block(&mut self, depth: usize) -> Block {
        let statements = match depth {
            0 => Vec::new(),
            _ => self.list(|g| g.statement(depth - 1)),
        };
        Block { statements, results: self.atoms() }
    }

    fn statement(&mut self, depth: usize) -> Statement {
        Statement { binders: self.binders(), op: self.op(depth), span: Default::default() }
    }

    fn lambda(&mut self, depth: usize) -> Lambda {
        Lambda { params: self.binders(), results: self.list(|g| g.ty(1)), body: self.block(depth) }
    }

    fn axis(&mut self) -> Axis {
        Axis { var: self.fresh(), size: self.atom() }
    }

    fn sizes(&mut self) -> Vec<Size> {
        self.list(|g| if g.random.flag() { Size::FromValue } else { Size::Known(g.atom()) })
    }

    fn slice_dims(&mut self) -> Vec<SliceDim> {
        self.list(|g| match g.random.flag() {
            true => SliceDim::Index(g.atom()),
            false => SliceDim::Range { start: g.atom(), count: g.atom(), stride: g.atom() },
        })
    }

    fn op(&mut self, d: usize) -> Op {
        let all = PrimOp::all();
        match self.random.below(34) {
            0 => Op::Copy(self.atoms()),
            1 => Op::Prim(all[self.random.below(all.len())], self.atoms()),
            2 => Op::If { condition: self.atom(), then: self.block(d), otherwise: self.block(d) },
            3 => Op::Call { function: FunctionId(self.random.below(4) as u32), args: self.atoms() },
            4 => Op::Closure(self.lambda(d)),
            5 => Op::Apply { function: self.atom(), args: self.atoms() },
            6 => Op::Construct { ty: self.ty(2), tag: self.random.below(5) as u32, args: self.atoms() },
            7 => {
                let scrutinee = self.atom();
                let arms = self.list(|g| Arm { tag: g.random.below(9) as u32, binders: g.binders(), body: g.block(d) });
                let otherwise = self.random.flag().then(|| self.block(d));
                Op::Match { scrutinee, arms, otherwise }
            }
            8 => Op::Build { space: self.list(Self::axis), body: self.block(d), inner: self.list(Self::sizes) },
            9 => {
                let (space, op, neutral) = (self.list(Self::axis), self.lambda(d), self.atoms());
                Op::Reduce { space, op, neutral, body: self.block(d), commutative: self.random.flag() }
            }
            10 => Op::Scan { axis: self.axis(), op: self.lambda(d), neutral: self.atoms(), body: self.block(d) },
            11 => {
                let (space, dest, rank) = (self.list(Self::axis), self.atoms(), self.random.below(4));
                Op::Hist { space, dest, rank, op: self.lambda(d), neutral: self.atoms(), body: self.block(d) }
            }
            12 => {
                let (space, dest, rank) = (self.list(Self::axis), self.atoms(), self.random.below(4));
                Op::Scatter { space, dest, rank, body: self.block(d) }
            }
            13 => Op::ArrayLiteral { ty: self.ty(2), elements: self.atoms(), inner: self.sizes() },
            14 => Op::Index { array: self.atom(), indices: self.atoms() },
            15 => Op::Slice { array: self.atom(), dims: self.slice_dims() },
            16 => Op::Update { array: self.atom(), dims: self.slice_dims(), value: self.atom() },
            17 => Op::Transpose { array: self.atom(), permutation: self.list(|g| g.random.below(4)) },
            18 => Op::Reshape { array: self.atom(), dims: self.atoms() },
            19 => Op::Concat { arrays: self.atoms() },
            20 => Op::Dim { array: self.atom(), axis: self.random.below(4) },
            21 | 22 => self.loop_op(d),
            23 => {
                let condition = self.atom();
                let message = self.list(|g| match g.random.flag() {
                    true => MessagePart::Text(g.name().to_owned()),
                    false => MessagePart::Value(g.atom()),
                });
                Op::Assert { condition, message }
            }
            24 => Op::Par { left: self.block(d), right: self.block(d) },
            25 => Op::Recompute(self.block(d)),
            26 => Op::Trace { tag: self.name().into(), args: self.atoms() },
            27 | 28 => Op::Differentiate(Box::new(Differentiate {
                mode: [Mode::Jvp, Mode::Vjp, Mode::Jmp, Mode::Mjp, Mode::Dependencies][self.random.below(5)],
                with_primal: self.random.flag(),
                function: self.lambda(d),
                args: self.atoms(),
                seeds: self.atoms(),
                count: self.random.flag().then(|| self.atom()),
                unroll: self.random.flag(),
            })),
            29 => Op::Custom(Box::new(Custom {
                kind: [CustomKind::Vjp, CustomKind::VjpTape { tape: 2 }, CustomKind::Jvp][self.random.below(3)],
                function: self.lambda(d),
                rule: self.lambda(d),
                args: self.atoms(),
            })),
            30 => {
                let handles = self.binders();
                let init = handles.iter().map(|_| self.atom()).collect();
                Op::WithAccumulators { handles, init, body: self.block(d) }
            }
            31 => Op::WithLog { handle: self.binder(), start: self.atom(), body: self.block(d) },
            32 => Op::Log { handle: self.atom(), indices: self.atoms(), values: self.atoms() },
            _ => {
                let handle = self.atom();
                let path = self.list(|g| match g.random.below(3) {
                    0 => PathStep::Index(g.atoms()),
                    1 => PathStep::Slice(g.slice_dims()),
                    _ => PathStep::Payload { tag: g.random.below(4) as u32, field: g.random.below(4) },
                });
                Op::Accumulate { handle, path, value: self.atom() }
            }
        }
    }

    fn loop_op(&mut self, d: usize) -> Op {
        let carry = self.binders();
        let initial = carry.iter().map(|_| self.atom()).collect();
        let form = match self.random.flag() {
            true => LoopForm::For { index: self.binder(), bound: self.atom() },
            false => LoopForm::While { condition: self.block(d) },
        };
        let hints = LoopHints {
            stripmine: self.random.flag().then_some(3),
            bound: self.random.flag().then_some(1 << 40),
            true_dependency: self.random.flag(),
            commutes: self.random.flag(),
        };
        let (body, emits, counted) = (self.block(d), self.list(Self::sizes), self.random.flag());
        Op::Loop(Box::new(Loop { carry, initial, form, body, emits, counted, hints }))
    }

    fn program(mut self) -> Program {
        for _ in 0..2 {
            let name = self.name().into();
            let constructors = self.constructors(2);
            self.program.types.push(TypeDefinition { name, constructors });
        }
        for _ in 0..4 {
            let name = self.name().into();
            let (params, results) = (self.binders(), self.list(|g| g.ty(2)));
            let function = Function { name, params, results, body: self.block(3), span: Default::default() };
            self.program.functions.push(function);
        }
        let value = |g: &mut Self| {
            let types = g.list(|g| g.ty(2));
            let paths = types.iter().map(|_| g.name().into()).collect();
            EntryValue { name: g.name().into(), source_type: g.name().to_owned(), types, paths }
        };
        let entry =
            Entry { name: self.name().into(), function: FunctionId(1), params: self.list(value), results: self.list(value) };
        self.program.entries.push(entry);
        // Make every variable occur.
        let all = (0..self.program.var_names.len() as u32).map(|var| Atom::Var(Var(var))).collect();
        let body = Block { statements: Vec::new(), results: all };
        let function = Function { name: "all".into(), params: Vec::new(), results: Vec::new(), body, span: Default::default() };
        self.program.functions.push(function);
        self.program
    }
}

fn generate(seed: u64) -> Program {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..8 {
        random.next();
    }
    Generator { random, program: Program::default() }.program()
}

#[test]
fn printing_then_parsing_is_the_identity() {
    for seed in 1..400 {
        let program = generate(seed);
        let text = print(&program);
        let parsed = parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(parsed, program, "seed {seed}\n{text}");
    }
}

#[test]
fn the_verifier_looks_at_anything_without_a_panic() {
    for seed in 1..300 {
        assert!(!verify::verify(&generate(seed)).is_empty(), "seed {seed}");
    }
}

#[test]
fn copies_have_fresh_binders_and_the_same_text_otherwise() {
    for seed in 1..100 {
        let mut program = generate(seed);
        let block = program.functions[0].body.clone();
        let before = program.var_names.len() as u32;
        let copy = visit::Copier::new(&mut program).block(&block);
        let mut bound = Vec::new();
        binders_of(&copy, &mut bound);
        assert!(bound.iter().all(|var| var.0 >= before), "seed {seed}");
        let mut original = Vec::new();
        binders_of(&block, &mut original);
        assert_eq!(bound.len(), original.len(), "seed {seed}");
    }
}

fn binders_of(block: &Block, bound: &mut Vec<Var>) {
    for statement in &block.statements {
        bound.extend(statement.binders.iter().map(|binder| binder.var));
        for scope in statement.op.scopes() {
            bound.extend(&scope.binders);
            binders_of(scope.block, bound);
        }
    }
}

#[test]
fn damaged_text_is_an_error_with_a_place() {
    let mut random = Random(77);
    for seed in 1..60 {
        let text = print(&generate(seed));
        for _ in 0..20 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..1 + random.below(3) {
                let at = random.below(bytes.len());
                match random.below(3) {
                    0 => bytes[at] = b" {}()[]\"_1x@:=,.#-"[random.below(18)],
                    1 => {
                        bytes.remove(at);
                    }
                    _ => bytes.truncate(at.max(1)),
                }
            }
            if let Ok(damaged) = String::from_utf8(bytes)
                && let Err(error) = parse(&damaged)
            {
                assert!(error.line > 0 && error.column > 0, "{error}");
            }
        }
    }
}

#[test]
fn deep_nesting_is_refused() {
    let deep = |count: usize| {
        let open = "recompute { ".repeat(count);
        let close = "return }".repeat(count);
        format!("def f() -> () {{ {open} {close} return }}")
    };
    assert!(parse(&deep(500)).is_ok());
    assert_eq!(parse(&deep(100_000)).expect_err("an error").message, "too deeply nested");
    let types = format!("type t = #a({}f64{})", "acc(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(parse(&types).expect_err("an error").message, "too deeply nested");
}

#[test]
fn errors_say_where() {
    let error = parse("def f(x: f64) -> (f64) {\n  y: f64 = f64.frobnicate(x)\n  return y\n}").expect_err("an error");
    assert_eq!((error.line, error.column), (2, 12));
    assert_eq!(error.message, "unknown primitive operation");
    assert_eq!(parse("def").expect_err("an error").message, "expected a name");
    assert!(parse("def f(x_99999999: f64) -> () { return }").is_err());
    assert!(parse("def f() -> () { return 1 }").is_err());
    assert!(parse("def f() -> () { return 300u8 }").is_err());
}

#[test]
fn the_text_is_readable() {
    let source = "def sum@0(n_0: i64, xs_1: [?]f64) -> (f64) {
  s_2: f64 = reduce [i_3 < n_0] neutral(0.0f64) op (a_4: f64, b_5: f64) -> (f64) {
    c_6: f64 = f64.add(a_4, b_5)
    return c_6
  } {
    x_7: f64 = index xs_1 [i_3]
    return x_7
  }
  return s_2
}

entry main = sum@0 (\"xs\" \"[]f64\" (i64, [?]f64)) -> (\"\" \"f64\" (f64))
";
    assert_eq!(print(&parse(source).expect("a program")), source);
}
