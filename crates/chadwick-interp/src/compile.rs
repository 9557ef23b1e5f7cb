//! From Core to flat code.

mod arrays;
mod blocks;
mod liveness;

use crate::code::*;
use crate::value::Value;
use chadwick_core::{Atom, Binder, Block, Const, Function, Lambda, Type, Var};
use chadwick_source::{Name, Span};
use liveness::Liveness;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The code of a function.
pub(crate) fn compile_function(function: &Function) -> Rc<Code> {
    compile(function.name.clone(), &[], &function.params, &function.body, &FxHashSet::default(), function.span)
}

/// The code of a lambda whose frame starts with `captures`.
fn compile_lambda(lambda: &Lambda, name: Name, captures: &[Var], scalars: &FxHashSet<Var>, span: Span) -> Rc<Code> {
    compile(name, captures, &lambda.params, &lambda.body, scalars, span)
}

fn compile(name: Name, captures: &[Var], params: &[Binder], body: &Block, scalars: &FxHashSet<Var>, span: Span) -> Rc<Code> {
    let mut compiler = Compiler {
        code: Code { name, params: params.len(), ..Code::default() },
        liveness: Liveness::of(body),
        registers: FxHashMap::default(),
        owner: FxHashMap::default(),
        locals: vec![Vec::new()],
        scalars: scalars.clone(),
        free: Vec::new(),
        constants: FxHashMap::default(),
        accumulators: Vec::new(),
        span,
    };
    for var in captures {
        compiler.bind(*var);
    }
    for param in params {
        compiler.define(param);
    }
    // What nobody uses is not kept alive for the whole call.
    let incoming = captures.iter().copied().chain(params.iter().map(|param| param.var));
    let unused: Vec<Var> = incoming.filter(|var| !compiler.liveness.is_live(*var)).collect();
    compiler.clear(&unused);
    compiler.statements(body);
    let values = compiler.results(body);
    let values = compiler.list(&values);
    compiler.emit(Inst::Return { values });
    Rc::new(compiler.code)
}

struct Compiler {
    code: Code,
    liveness: Liveness,
    registers: FxHashMap<Var, Register>,
    /// The depth of the block that defines a variable.
    owner: FxHashMap<Var, usize>,
    /// Per open block, the variables it defines.
    locals: Vec<Vec<Var>>,
    /// Variables of scalar type: moving them out of their registers would gain nothing.
    scalars: FxHashSet<Var>,
    free: Vec<Register>,
    constants: FxHashMap<ConstantKey, u32>,
    /// The registers that the last fold left its values in.
    accumulators: Vec<Register>,
    span: Span,
}

impl Compiler {
    fn emit(&mut self, inst: Inst) -> usize {
        self.code.insts.push(inst);
        self.code.spans.push(self.span);
        self.code.insts.len() - 1
    }

    fn here(&self) -> Label {
        self.code.insts.len() as Label
    }

    /// Lets the jump at `at` lead to the next instruction.
    fn patch(&mut self, at: usize) {
        let here = self.here();
        match &mut self.code.insts[at] {
            Inst::Jump { target } | Inst::JumpBack { target } | Inst::JumpUnless { target, .. } => *target = here,
            Inst::JumpOutside { target, .. } => *target = here,
            Inst::SpaceStart { end, .. } | Inst::CountStart { end, .. } => *end = here,
            _ => {}
        }
    }

    fn temporary(&mut self) -> Register {
        self.free.pop().unwrap_or_else(|| {
            self.code.registers += 1;
            self.code.registers as Register - 1
        })
    }

    fn temporaries(&mut self, count: usize) -> Vec<Register> {
        (0..count).map(|_| self.temporary()).collect()
    }

    /// Gives registers back. They are empty or hold scalars.
    fn release(&mut self, registers: &[Register]) {
        self.free.extend(registers);
    }

    fn bind(&mut self, var: Var) -> Register {
        let register = self.temporary();
        self.registers.insert(var, register);
        self.owner.insert(var, self.locals.len());
        if let Some(locals) = self.locals.last_mut() {
            locals.push(var);
        }
        register
    }

    fn define(&mut self, binder: &Binder) -> Register {
        if matches!(binder.ty, Type::Prim(_)) {
            self.scalars.insert(binder.var);
        }
        self.bind(binder.var)
    }

    fn define_all(&mut self, binders: &[Binder]) -> Vec<Register> {
        binders.iter().map(|binder| self.define(binder)).collect()
    }

    /// A register for a variable; verified programs bind before they use.
    fn register(&mut self, var: Var) -> Register {
        match self.registers.get(&var) {
            Some(register) => *register,
            None => self.bind(var),
        }
    }

    fn constant(&mut self, constant: Const) -> Operand {
        let constants = &mut self.code.constants;
        let index = *self.constants.entry(constant).or_insert_with(|| {
            constants.push(Value::Scalar(constant));
            constants.len() as u32 - 1
        });
        Operand::constant(index)
    }

    /// An operand that leaves its register alone.
    fn read(&mut self, atom: &Atom) -> Operand {
        match atom {
            Atom::Const(constant) => self.constant(*constant),
            Atom::Var(var) => Operand::register(self.register(*var)),
        }
    }

    fn list(&mut self, operands: &[Operand]) -> List {
        let start = self.code.operands.len() as u32;
        self.code.operands.extend(operands);
        List { start, len: operands.len() as u32 }
    }

    fn registers_list(&mut self, registers: &[Register]) -> List {
        let operands: Vec<Operand> = registers.iter().map(|register| Operand::register(*register)).collect();
        self.list(&operands)
    }

    /// Operands in reading order: the last occurrence of a dying variable moves it out.
    fn operands<'a>(&mut self, atoms: impl IntoIterator<Item = &'a Atom>, dying: &[Var]) -> Vec<Operand> {
        let atoms: Vec<&Atom> = atoms.into_iter().collect();
        let mut operands: Vec<Operand> = atoms.iter().map(|atom| self.read(atom)).collect();
        let mut taken: Vec<Var> = Vec::new();
        for (atom, operand) in atoms.iter().zip(&mut operands).rev() {
            if let Atom::Var(var) = atom
                && dying.contains(var)
                && !taken.contains(var)
                && !self.scalars.contains(var)
            {
                taken.push(*var);
                *operand = Operand::take(operand.0);
            }
        }
        operands
    }

    /// The results of a block, moved out where nobody uses them behind it.
    fn results(&mut self, block: &Block) -> Vec<Operand> {
        let dying = self.liveness.dying_results(block).to_vec();
        self.operands(&block.results, &dying)
    }

    fn clear(&mut self, vars: &[Var]) {
        for var in vars {
            if !self.scalars.contains(var)
                && let Some(register) = self.registers.get(var).copied()
            {
                self.emit(Inst::Clear { register });
            }
        }
    }

    /// Gives back the registers of dead variables that the current block defined.
    fn forget(&mut self, vars: &[Var]) {
        let depth = self.locals.len();
        for var in vars {
            if self.owner.get(var) == Some(&depth)
                && let Some(register) = self.registers.remove(var)
            {
                self.owner.remove(var);
                self.free.push(register);
            }
        }
    }

    fn open(&mut self) {
        self.locals.push(Vec::new());
    }

    /// Ends a block: its variables are dead.
    fn close(&mut self) {
        for var in self.locals.pop().unwrap_or_default() {
            if let Some(register) = self.registers.remove(&var) {
                self.owner.remove(&var);
                self.free.push(register);
            }
        }
    }
}
