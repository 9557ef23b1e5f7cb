//! Which results depend on which inputs: forward mode with sets of inputs for tangents and union for addition.
//!
//! A set stands beside a number as a number of the same type whose bits are its members, so that all forms on arrays carry it as they
//! carry a tangent. An operation joins the sets of its operands, except of those through which no derivative passes. Only accumulators
//! add for themselves; where there are some (inside a derivative of a derivative), what stands beside a number is positive if it depends
//! on an input and zero if not, and every member of a set has a pass of its own.

use crate::context::{Applied, Context, with_axis};
use crate::expand::Expander;
use crate::split::Split;
use chadwick_core::prim::{Derivative, Partial};
use chadwick_core::{
    Atom, Axis, BinaryOp, Block, CompareOp, Const, Differentiate, FunctionId, Lambda, Op, Prim, PrimOp, Program, SET_BITS,
    Statement, Type,
};
use chadwick_source::Span;
use rustc_hash::FxHashSet;

/// What forward mode puts beside a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Beside {
    Tangent,
    /// A set of inputs, as bits.
    Set,
    /// Something positive if the number depends on the input, else zero.
    Paths,
}

impl Beside {
    /// What the name of a function that has it ends in.
    pub fn name(self) -> &'static str {
        match self {
            Beside::Tangent => "jvp",
            Beside::Set => "dependencies",
            Beside::Paths => "dependency",
        }
    }
}

impl Context<'_> {
    /// What one operand of an operation gives to what stands beside the result; `None` if nothing passes.
    pub fn pass_beside(
        &mut self,
        beside: Beside,
        derivative: &Derivative,
        incoming: &Atom,
        applied: &Applied<'_>,
        span: Span,
    ) -> Option<Atom> {
        let to = applied.op.result();
        match (beside, derivative) {
            (Beside::Tangent, _) => self.pass(derivative, incoming, applied, to, span),
            (_, Derivative::Zero) => None,
            (_, Derivative::One | Derivative::MinusOne) => Some(incoming.clone()),
            (_, Derivative::Scale(partial)) if is_zero(partial) => None,
            (_, Derivative::Scale(partial)) => Some(self.where_not_zero(partial, incoming, applied, span)),
            (_, Derivative::Convert) => {
                let from = self.type_of(incoming).as_prim()?;
                Some(match beside {
                    _ if from == to => incoming.clone(),
                    Beside::Set => {
                        let set = self.set_of_number(incoming.clone(), from, span);
                        self.number_of_set(set, to, span)
                    }
                    _ => self.positive(incoming, from, to, span),
                })
            }
        }
    }

    /// Two of what stands beside numbers as one.
    pub fn join(&mut self, beside: Beside, left: Atom, right: Atom, span: Span) -> Atom {
        let (Beside::Set | Beside::Paths, Type::Prim(prim)) = (beside, self.type_of(&left)) else {
            return self.sum(left, right, span);
        };
        let is_empty = |atom: &Atom| *atom == Atom::Const(Const::zero(prim));
        match (beside, prim) {
            (_, Prim::Bool) => left,
            _ if is_empty(&left) => right,
            _ if is_empty(&right) || left == right => left,
            (Beside::Set, prim) if prim.is_float() => {
                let bits = PrimOp::ToBits(prim);
                let parts = [left, right].map(|part| self.prim(bits, vec![part], span));
                let union = self.prim(PrimOp::Binary(BinaryOp::Or, bits.result()), parts.to_vec(), span);
                self.prim(PrimOp::FromBits(prim), vec![union], span)
            }
            (Beside::Set, prim) => self.prim(PrimOp::Binary(BinaryOp::Or, prim), vec![left, right], span),
            _ => self.prim(PrimOp::Binary(BinaryOp::Max, prim), vec![left, right], span),
        }
    }

    /// What is added to an accumulator. Integers are added as ones, so that their sum is no more than the number of additions.
    pub fn addend(&mut self, beside: Beside, value: Atom, span: Span) -> Atom {
        match (beside, element(&self.type_of(&value))) {
            (Beside::Paths, prim) if prim.is_integer() => {
                self.each_number(value, span, |context, number, prim| context.positive(&number, prim, prim, span))
            }
            _ => value,
        }
    }

    /// What comes in, except where the partial derivative is chosen to be zero.
    fn where_not_zero(&mut self, partial: &Partial, incoming: &Atom, applied: &Applied<'_>, span: Span) -> Atom {
        match partial {
            partial if is_zero(partial) => {
                let prim = self.type_of(incoming).as_prim().unwrap_or(Prim::F64);
                Atom::Const(Const::zero(prim))
            }
            Partial::Select(parts) if may_be_zero(partial) => {
                let [condition, then, otherwise] = &**parts;
                let condition = self.partial(condition, applied, span);
                let then = self.block(|context| vec![context.where_not_zero(then, incoming, applied, span)]);
                let otherwise = self.block(|context| vec![context.where_not_zero(otherwise, incoming, applied, span)]);
                self.emit_one(Op::If { condition, then, otherwise }, span)
            }
            _ => incoming.clone(),
        }
    }

    /// One where a number is positive, else zero.
    fn positive(&mut self, number: &Atom, from: Prim, to: Prim, span: Span) -> Atom {
        let args = vec![Atom::Const(Const::zero(from)), number.clone()];
        let condition = self.prim(PrimOp::Compare(CompareOp::Less, from), args, span);
        let [then, otherwise] = [Const::one(to), Const::zero(to)]
            .map(|constant| Block { statements: Vec::new(), results: vec![Atom::Const(constant)] });
        self.emit_one(Op::If { condition, then, otherwise }, span)
    }

    /// A set that stands beside a number, as a `u64`.
    fn set_of_number(&mut self, number: Atom, prim: Prim, span: Span) -> Atom {
        let (bits, from) = match prim.is_float() {
            true => (self.prim(PrimOp::ToBits(prim), vec![number], span), PrimOp::ToBits(prim).result()),
            false => (number, prim),
        };
        self.converted(bits, from, Prim::U64, span)
    }

    fn number_of_set(&mut self, set: Atom, prim: Prim, span: Span) -> Atom {
        if !prim.is_float() {
            return self.converted(set, Prim::U64, prim, span);
        }
        let bits = self.converted(set, Prim::U64, PrimOp::ToBits(prim).result(), span);
        self.prim(PrimOp::FromBits(prim), vec![bits], span)
    }

    fn converted(&mut self, atom: Atom, from: Prim, to: Prim, span: Span) -> Atom {
        if from == to { atom } else { self.prim(PrimOp::Convert { from, to }, vec![atom], span) }
    }

    /// A number, or an array of numbers, with each replaced.
    fn each_number(&mut self, value: Atom, span: Span, replace: impl FnOnce(&mut Self, Atom, Prim) -> Atom) -> Atom {
        let Type::Array(array) = self.type_of(&value) else {
            let prim = self.type_of(&value).as_prim().unwrap_or(Prim::Bool);
            return replace(self, value, prim);
        };
        let space = self.space_of(&value, array.dims.len(), span);
        let indices = space.iter().map(|axis| Atom::Var(axis.var)).collect();
        let body = self.block(|context| {
            let element = context.emit_one(Op::Index { array: value, indices }, span);
            let prim = context.type_of(&element).as_prim().unwrap_or(Prim::Bool);
            vec![replace(context, element, prim)]
        });
        self.emit_one(Op::Build { space, body, inner: vec![Vec::new()] }, span)
    }

    fn space_of(&mut self, array: &Atom, rank: usize, span: Span) -> Vec<Axis> {
        let axis = |axis| {
            let size = self.emit_one(Op::Dim { array: array.clone(), axis }, span);
            Axis { var: self.fresh("i", Type::I64).var, size }
        };
        (0..rank).map(axis).collect()
    }

    fn u64_op(&mut self, op: BinaryOp, left: Atom, right: Atom, span: Span) -> Atom {
        self.prim(PrimOp::Binary(op, Prim::U64), vec![left, right], span)
    }
}

/// Whether nothing passes, wherever it is taken.
fn is_zero(partial: &Partial) -> bool {
    match partial {
        Partial::Constant(constant) => constant.prim() != Prim::Bool && *constant == Const::zero(constant.prim()),
        Partial::Select(parts) => is_zero(&parts[1]) && is_zero(&parts[2]),
        _ => false,
    }
}

fn may_be_zero(partial: &Partial) -> bool {
    match partial {
        Partial::Select(parts) => may_be_zero(&parts[1]) || may_be_zero(&parts[2]),
        partial => is_zero(partial),
    }
}

/// How the sets of a seed go through a function: in how many parts, and how many members a part has.
#[derive(Clone, Copy)]
struct Lanes {
    beside: Beside,
    members: u32,
}

impl Lanes {
    fn count(self) -> u32 {
        SET_BITS.div_ceil(self.members)
    }

    /// By what a function and those that it calls are made of. Nothing if accumulators might add small integers: those wrap, so a sum of
    /// ones may be zero.
    fn for_function(program: &Program, function: &Lambda) -> Option<Lanes> {
        let mut code = Code::default();
        code.block(program, &function.body);
        // Floats become integers only where the program says so; without that, integers have nothing beside them.
        let through_integers = code.conversions.iter().any(|(from, to)| from.is_float() && to.is_integer());
        if code.accumulates {
            let is_small = |prim: Prim| prim.is_integer() && prim.bits() < 32;
            let wraps = through_integers && code.conversions.iter().any(|(_, to)| is_small(*to));
            return (!wraps).then_some(Lanes { beside: Beside::Paths, members: 1 });
        }
        let reached = code.conversions.iter().filter(|(from, _)| through_integers || from.is_float()).map(|(_, to)| *to);
        let params = function.params.iter().filter_map(|param| match &param.ty {
            Type::Prim(prim) => Some(*prim),
            Type::Array(array) => array.element.as_type().and_then(|element| element.as_prim()),
            _ => None,
        });
        let members = params.chain(reached).map(members).min().unwrap_or(SET_BITS);
        Some(Lanes { beside: Beside::Set, members: members.min(SET_BITS) })
    }

    /// Emits the numbers of one lane of a set, as they stand beside numbers of a type.
    fn number(self, context: &mut Context, set: Atom, lane: Option<&Atom>, prim: Prim, span: Span) -> Atom {
        let Some(lane) = lane else { return context.number_of_set(set, prim, span) };
        let shifted = context.u64_op(BinaryOp::ShiftRightLogical, set, lane.clone(), span);
        let own = Atom::Const(Const::U64((1 << self.members) - 1));
        let part = context.u64_op(BinaryOp::And, shifted, own, span);
        match self.beside {
            Beside::Paths => context.positive(&part, Prim::U64, prim, span),
            _ => context.number_of_set(part, prim, span),
        }
    }

    fn set(self, context: &mut Context, number: Atom, lane: Option<&Atom>, prim: Prim, span: Span) -> Atom {
        let part = match self.beside {
            Beside::Paths => context.positive(&number, prim, Prim::U64, span),
            _ => context.set_of_number(number, prim, span),
        };
        match lane {
            Some(lane) => context.u64_op(BinaryOp::ShiftLeft, part, lane.clone(), span),
            None => part,
        }
    }
}

/// How many members a set beside a number of the type can have. Floats leave two bits alone, so that none is NaN or a negative zero, and
/// signed integers their sign.
fn members(prim: Prim) -> u32 {
    match prim {
        prim if prim.is_float() => prim.bits() - 2,
        prim if prim.is_signed() => prim.bits() - 1,
        prim => prim.bits(),
    }
}

/// What matters here about code, called functions included.
#[derive(Default)]
struct Code {
    accumulates: bool,
    conversions: Vec<(Prim, Prim)>,
    seen: FxHashSet<FunctionId>,
}

impl Code {
    fn block(&mut self, program: &Program, block: &Block) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            for statement in &block.statements {
                match &statement.op {
                    Op::Prim(PrimOp::Convert { from, to }, _) if *from != Prim::Bool && *to != Prim::Bool => {
                        self.conversions.push((*from, *to));
                    }
                    Op::WithAccumulators { .. } | Op::Accumulate { .. } => self.accumulates = true,
                    Op::Call { function, .. } => {
                        if let Some(target) = program.functions.get(function.0 as usize)
                            && self.seen.insert(*function)
                        {
                            self.block(program, &target.body);
                        }
                    }
                    _ => {}
                }
                statement.op.scopes().iter().for_each(|scope| self.block(program, scope.block));
            }
        });
    }
}

impl Expander<'_> {
    /// One primal run, then the union of sets for each seed, in as many parts as it takes.
    pub(crate) fn dependencies(&mut self, statement: &Statement, parts: &Differentiate) {
        let span = statement.span;
        let Some(lanes) = Lanes::for_function(self.context.program(), &parts.function) else {
            self.context.unsupported(span, "a derivative through integers of 8 or 16 bits, as to what depends on what");
            return;
        };
        let lambda = self.context.copy_lambda(&parts.function);
        for (param, arg) in lambda.params.iter().zip(&parts.args) {
            self.context.push_statement(Statement { binders: vec![param.clone()], op: Op::Copy(vec![arg.clone()]), span });
        }
        let mut space =
            vec![Axis { var: self.context.fresh("seed", Type::I64).var, size: parts.count.clone().unwrap_or(Atom::i64(0)) }];
        if lanes.count() > 1 {
            space.push(Axis { var: self.context.fresh("lane", Type::I64).var, size: Atom::i64(lanes.count().into()) });
        }
        self.context.b.push_block();
        let lane = space.get(1).map(|axis| {
            let number = self.context.converted(Atom::Var(axis.var), Prim::I64, Prim::U64, span);
            self.context.u64_op(BinaryOp::Mul, number, Atom::Const(Const::U64(lanes.members.into())), span)
        });
        let mut seeds = self.seeds_at(&parts.seeds, space[0].var, span);
        for (seed, param) in seeds.iter_mut().zip(&lambda.params) {
            let prim = element(&param.ty);
            *seed = self
                .context
                .each_number(seed.clone(), span, |context, set, _| lanes.number(context, set, lane.as_ref(), prim, span));
        }
        let mut functions = std::mem::take(&mut self.split);
        let forward = self.with_seeds(&lambda, &seeds, lanes.beside, span);
        let (primal, results) = Split::new(forward, &mut functions).block(&lambda.body, &vec![true; lambda.results.len()]);
        self.split = functions;
        let context = &mut self.context;
        let sets: Vec<Atom> = results
            .into_iter()
            .map(|result| {
                context.each_number(result, span, |context, number, prim| lanes.set(context, number, lane.as_ref(), prim, span))
            })
            .collect();
        let types: Vec<Type> = sets.iter().map(|set| context.type_of(set)).collect();
        let body = context.b.pop_block(sets);
        primal.into_iter().for_each(|statement| context.push_statement(statement));
        let inner: Vec<_> = lambda.body.results.iter().map(|value| context.sizes_of_value(value, span)).collect();
        let types = types.iter().map(|ty| space.iter().fold(ty.clone(), |ty, _| with_axis(&ty))).collect();
        let has_lanes = space.len() > 1;
        let mut sets = context.b.push(Op::Build { space, body, inner }, types, span);
        if has_lanes {
            sets = sets.iter().map(|sets| context.union_of_lanes(sets, lanes.count(), span)).collect();
        }
        self.bind(&statement.binders, sets, span);
    }
}

/// The type of the numbers in a number or an array of numbers.
fn element(ty: &Type) -> Prim {
    let prim = match ty {
        Type::Array(array) => array.element.as_type().and_then(|element| element.as_prim()),
        ty => ty.as_prim(),
    };
    prim.unwrap_or(Prim::Bool)
}

impl Context<'_> {
    /// The union along the second axis of an array of sets.
    fn union_of_lanes(&mut self, sets: &Atom, count: u32, span: Span) -> Atom {
        let rank = self.type_of(sets).rank();
        let mut space = self.space_of(sets, rank, span);
        let lane = Axis { size: Atom::i64(count.into()), ..space.remove(1) };
        let mut indices: Vec<Atom> = space.iter().map(|axis| Atom::Var(axis.var)).collect();
        indices.insert(1, Atom::Var(lane.var));
        let body = self.block(|context| {
            let params = vec![context.fresh("a", Type::Prim(Prim::U64)), context.fresh("b", Type::Prim(Prim::U64))];
            let args: Vec<Atom> = params.iter().map(|param| Atom::Var(param.var)).collect();
            let union = context.block(|context| vec![context.u64_op(BinaryOp::Or, args[0].clone(), args[1].clone(), span)]);
            let op = Lambda { params, results: vec![Type::Prim(Prim::U64)], body: union };
            let body = context.block(|context| vec![context.emit_one(Op::Index { array: sets.clone(), indices }, span)]);
            let neutral = vec![Atom::Const(Const::U64(0))];
            vec![context.emit_one(Op::Reduce { space: vec![lane], op, neutral, body, commutative: true }, span)]
        });
        self.emit_one(Op::Build { space, body, inner: vec![Vec::new()] }, span)
    }
}
