//! What a derivative program keeps for its reverse pass, read off the program itself.
//!
//! The statements that the primal results depend on are the forward pass; the others are the reverse pass. A variable of the one that the
//! other reads is kept in between. So the answer holds for the program as it stands after optimisation, whoever made it. What a kept value is
//! in the source is found by following it to where its elements are computed; why it is kept, by following it to where they are used.

use chadwick_core::visit::op_free_variables;
use chadwick_core::{
    Atom, Block, Const, Function, FunctionId, LoopForm, Op, Prim, PrimOp, Program, Statement, Type, TypeId, Var,
};
use chadwick_source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// A value that is there from the forward pass to the reverse pass.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedValue {
    pub var: Var,
    /// The function whose calls each keep one, if it is not the function itself.
    pub per_call: Option<FunctionId>,
    /// Sizes from the outermost inwards, as far as they can be told.
    pub sizes: Vec<String>,
    /// The innermost type.
    pub element: Type,
    /// Expressions whose value this is.
    pub values_of: Vec<Span>,
    /// Expressions whose derivatives read it.
    pub needed_by: Vec<Span>,
    /// The value is an argument of the function that keeps it, so it is there anyway.
    pub is_argument: bool,
}

impl SavedValue {
    /// Bytes of one element; a value that is no number counts as a pointer.
    pub fn element_bytes(&self) -> usize {
        self.element.as_prim().map_or(8, Prim::bytes)
    }
}

/// The values that `function`, whose first `primal` results are not derivatives, keeps. `is_own` tells spans of the program from those of
/// the library; `name_size` may know what the source calls the length of a parameter's axis.
pub fn saved_values(
    program: &Program,
    function: FunctionId,
    primal: usize,
    is_own: &dyn Fn(Span) -> bool,
    name_size: &dyn Fn(usize, usize) -> Option<String>,
) -> Vec<SavedValue> {
    let Some(body) = program.functions.get(function.0 as usize) else { return Vec::new() };
    let mut saved = Saved {
        program,
        definitions: FxHashMap::default(),
        is_own,
        name_size,
        root: function,
        seen: FxHashSet::default(),
        values: Vec::new(),
    };
    for (at, function) in program.functions.iter().enumerate() {
        saved.collect_function(FunctionId(at as u32), function);
    }
    let (forward, reverse) = parts(&body.body, primal);
    let kept: FxHashSet<Var> = reverse.iter().flat_map(|statement| op_free_variables(&statement.op)).collect();
    let mut kept: Vec<(Var, &Type)> = forward
        .iter()
        .flat_map(|statement| &statement.binders)
        .filter(|binder| kept.contains(&binder.var))
        .map(|binder| (binder.var, &binder.ty))
        .collect();
    kept.sort_unstable();
    for (var, ty) in kept {
        saved.value(var, ty, None, &reverse);
    }
    saved.values
}

/// The statements that the first results depend on, and the others.
fn parts(block: &Block, primal: usize) -> (Vec<&Statement>, Vec<&Statement>) {
    let atoms = block.results.iter().take(primal);
    let mut wanted: FxHashSet<Var> = atoms.filter_map(|atom| if let Atom::Var(var) = atom { Some(*var) } else { None }).collect();
    let (mut forward, mut reverse) = (Vec::new(), Vec::new());
    for statement in block.statements.iter().rev() {
        if statement.binders.iter().any(|binder| wanted.contains(&binder.var)) || matches!(statement.op, Op::Assert { .. }) {
            wanted.extend(op_free_variables(&statement.op));
            forward.push(statement);
        } else {
            reverse.push(statement);
        }
    }
    forward.reverse();
    reverse.reverse();
    (forward, reverse)
}

/// Where a variable comes from.
#[derive(Clone, Copy)]
enum Definition<'p> {
    Result(&'p Statement, usize),
    /// The state of a loop at the start of an iteration.
    Carry(&'p Statement, usize),
    Param(FunctionId, usize),
    /// Something else that a statement binds for its blocks.
    Inside(&'p Statement),
}

/// What is known about a value: its sizes, its innermost type, and the expressions it is the value of.
#[derive(Default)]
struct Source {
    sizes: Vec<String>,
    element: Option<Type>,
    spans: Vec<Span>,
}

struct Saved<'p, 'c> {
    program: &'p Program,
    definitions: FxHashMap<Var, Definition<'p>>,
    is_own: &'c dyn Fn(Span) -> bool,
    name_size: &'c dyn Fn(usize, usize) -> Option<String>,
    root: FunctionId,
    seen: FxHashSet<TypeId>,
    values: Vec<SavedValue>,
}

/// How far a value is followed.
const DEPTH: usize = 64;

/// How many expressions are named as readers of a value.
const READERS: usize = 4;

impl<'p> Saved<'p, '_> {
    fn collect_function(&mut self, id: FunctionId, function: &'p Function) {
        for (at, param) in function.params.iter().enumerate() {
            self.definitions.insert(param.var, Definition::Param(id, at));
        }
        self.collect(&function.body);
    }

    fn collect(&mut self, block: &'p Block) {
        for statement in &block.statements {
            for (at, binder) in statement.binders.iter().enumerate() {
                self.definitions.insert(binder.var, Definition::Result(statement, at));
            }
            statement.op.for_each_own_binder(&mut |var, _| {
                self.definitions.insert(var, Definition::Inside(statement));
            });
            if let Op::Loop(parts) = &statement.op {
                for (at, carry) in parts.carry.iter().enumerate() {
                    self.definitions.insert(carry.var, Definition::Carry(statement, at));
                }
            }
            for scope in statement.op.scopes() {
                self.collect(scope.block);
            }
        }
    }

    /// Reports one kept value; the tape of a call is reported field by field.
    fn value(&mut self, var: Var, ty: &Type, per_call: Option<FunctionId>, readers: &[&'p Statement]) {
        if let Some(tape) = tape_of(self.program, ty) {
            self.tape(tape);
            return;
        }
        let mut needed_by = Vec::new();
        let mut names = FxHashSet::from_iter([var]);
        let mut is_read = false;
        for statement in readers {
            is_read |= self.reads(statement, &mut names, Span::default(), &mut needed_by);
        }
        if is_read {
            self.push(var, ty, per_call, needed_by);
        }
    }

    fn push(&mut self, var: Var, ty: &Type, per_call: Option<FunctionId>, mut needed_by: Vec<Span>) {
        needed_by.truncate(READERS);
        let source = self.source(&Atom::Var(var), Span::default(), DEPTH);
        let mut sizes = source.sizes;
        if sizes.len() < ty.rank() {
            sizes.resize(ty.rank(), String::from("?"));
        }
        let element = source.element.unwrap_or_else(|| ty.peel(ty.rank()).unwrap_or(Type::BOOL));
        let is_argument = matches!(self.definitions.get(&var), Some(Definition::Param(..)));
        self.values.push(SavedValue { var, per_call, sizes, element, values_of: source.spans, needed_by, is_argument });
    }

    /// The fields of a tape, at each place where one is made.
    fn tape(&mut self, tape: TypeId) {
        if !self.seen.insert(tape) {
            return;
        }
        let program = self.program;
        let mut made = Vec::new();
        for (at, function) in program.functions.iter().enumerate() {
            constructions(&function.body, tape, FunctionId(at as u32), &mut made);
        }
        for (function, tag, args) in made {
            let mut readers = Vec::new();
            for function in &program.functions {
                matches_on(&function.body, &function.params, (tape, tag), &mut readers);
            }
            for (field, arg) in args.iter().enumerate() {
                let Atom::Var(var) = arg else { continue };
                let constructor = program.types[tape.0 as usize].constructors.get(tag as usize);
                let Some(ty) = constructor.and_then(|one| one.payload.get(field)) else { continue };
                if let Some(inner) = tape_of(program, ty) {
                    self.tape(inner);
                    continue;
                }
                let mut needed_by = Vec::new();
                let mut is_read = false;
                for (binders, body) in &readers {
                    let mut names: FxHashSet<Var> = binders.get(field).copied().into_iter().collect();
                    for statement in &body.statements {
                        is_read |= self.reads(statement, &mut names, Span::default(), &mut needed_by);
                    }
                }
                if is_read {
                    self.push(*var, ty, Some(function), needed_by);
                }
            }
        }
    }

    fn own(&self, span: Span, around: Span) -> Span {
        if span != Span::default() && (self.is_own)(span) { span } else { around }
    }

    /// Follows a value to where its elements are computed.
    fn source(&self, atom: &Atom, around: Span, depth: usize) -> Source {
        let Atom::Var(var) = atom else { return Source::default() };
        let Some(definition) = self.definitions.get(var).filter(|_| depth > 0) else { return Source::default() };
        let (statement, at) = match definition {
            Definition::Result(statement, at) => (*statement, *at),
            Definition::Carry(statement, at) => {
                let span = self.own(statement.span, around);
                let Op::Loop(parts) = &statement.op else { return Source::default() };
                let start = self.source(&parts.initial[*at], span, depth - 1);
                let ty = &parts.carry[*at].ty;
                return Source { spans: spans(span), element: ty.peel(ty.rank()), ..start };
            }
            Definition::Param(function, at) => {
                let ty = &self.program.functions[function.0 as usize].params[*at].ty;
                let sizes = (0..ty.rank()).map(|axis| self.param_size(*function, *at, axis)).collect();
                return Source { sizes, element: ty.peel(ty.rank()), spans: spans(around) };
            }
            Definition::Inside(statement) => {
                let spans = spans(self.own(statement.span, around));
                return Source { spans, ..Source::default() };
            }
        };
        let span = self.own(statement.span, around);
        let ty = &statement.binders[at].ty;
        let inner = |atom: &Atom| self.source(atom, span, depth - 1);
        let plain = |sizes: Vec<String>| Source { sizes, element: ty.peel(ty.rank()), spans: spans(span) };
        match &statement.op {
            Op::Copy(atoms) => atoms.get(at).map(inner).unwrap_or_default(),
            Op::Build { space, body, .. } => {
                let mut source = inner(&body.results[at]);
                if source.spans.is_empty() {
                    source.spans = spans(span);
                }
                if source.element.is_none() {
                    source.element = ty.peel(ty.rank());
                }
                source.sizes.splice(0..0, space.iter().map(|axis| self.size(&axis.size, DEPTH)));
                source
            }
            Op::Scan { axis, .. } => plain(vec![self.size(&axis.size, DEPTH)]),
            Op::Loop(parts) => {
                let emits = statement.binders.len() - parts.emits.len();
                if at < emits {
                    let start = parts.initial.get(at).map(inner).unwrap_or_default();
                    return plain(start.sizes);
                }
                let mut source = inner(&parts.body.results[parts.carry.len() + at - emits]);
                if source.element.is_none() {
                    source.element = ty.peel(ty.rank());
                }
                source.sizes.insert(0, self.trips(&parts.form));
                source
            }
            Op::If { .. } | Op::Match { .. } => {
                let branches: Vec<Source> =
                    statement.op.scopes().iter().filter_map(|scope| scope.block.results.get(at)).map(inner).collect();
                let mut joined = Source::default();
                for branch in branches {
                    joined.element = joined.element.or(branch.element);
                    if joined.sizes.iter().all(|size| size == "0") && !branch.sizes.is_empty() {
                        joined.sizes = branch.sizes;
                    }
                    joined.spans.extend(branch.spans);
                }
                joined.spans.sort_unstable();
                joined.spans.dedup();
                joined
            }
            Op::Recompute(block) => block.results.get(at).map(inner).unwrap_or_default(),
            Op::Par { left, right } => left.results.iter().chain(&right.results).nth(at).map(inner).unwrap_or_default(),
            Op::WithAccumulators { handles, init, body } => match at.checked_sub(handles.len()) {
                Some(at) => body.results.get(at).map(inner).unwrap_or_default(),
                None => plain(inner(&init[at]).sizes),
            },
            Op::Construct { ty: Type::Sum(constructors), args, .. } => match (constructors.len(), args.as_slice()) {
                // A box, or an option.
                (1 | 2, [content]) if matches!(constructors[0].name.as_str(), "box" | "none") => inner(content),
                (2, []) => Source::default(),
                // Several values that one slot of a branch holds.
                (2, contents) if constructors[0].name == "none" => {
                    let spans = contents.iter().flat_map(|content| inner(content).spans).collect();
                    Source { spans, element: ty.peel(ty.rank()), ..Source::default() }
                }
                _ => plain(Vec::new()),
            },
            Op::Index { array, indices } => plain(inner(array).sizes.into_iter().skip(indices.len()).collect()),
            Op::Update { array, .. } => plain(inner(array).sizes),
            Op::Transpose { array, permutation } => {
                let sizes = inner(array).sizes;
                plain(permutation.iter().map(|axis| sizes.get(*axis).cloned().unwrap_or(String::from("?"))).collect())
            }
            Op::Reshape { dims, .. } => plain(dims.iter().map(|dim| self.size(dim, DEPTH)).collect()),
            Op::ArrayLiteral { elements, .. } if elements.is_empty() => Source::default(),
            Op::ArrayLiteral { elements, .. } => {
                let mut source = plain(elements.first().map(inner).unwrap_or_default().sizes);
                source.sizes.insert(0, elements.len().to_string());
                source
            }
            _ => plain(Vec::new()),
        }
    }

    fn trips(&self, form: &LoopForm) -> String {
        match form {
            LoopForm::For { bound, .. } => self.size(bound, DEPTH),
            LoopForm::While { .. } => String::from("iterations"),
        }
    }

    fn param_size(&self, function: FunctionId, at: usize, axis: usize) -> String {
        let known = (function == self.root).then(|| (self.name_size)(at, axis)).flatten();
        known.unwrap_or_else(|| String::from("?"))
    }

    /// A size as people write it.
    fn size(&self, atom: &Atom, depth: usize) -> String {
        let var = match atom {
            Atom::Const(Const::I64(number)) => return number.to_string(),
            Atom::Const(Const::I32(number)) => return number.to_string(),
            Atom::Const(_) => return String::from("?"),
            Atom::Var(var) => *var,
        };
        let name = self.program.var_names.get(var.0 as usize).map_or("", |name| name.as_str());
        let unknown = || String::from(if name.is_empty() { "?" } else { name });
        if depth == 0 {
            return unknown();
        }
        match self.definitions.get(&var) {
            Some(Definition::Result(statement, at)) => match &statement.op {
                Op::Dim { array: Atom::Var(array), axis } => match self.definitions.get(array) {
                    Some(Definition::Param(function, param)) => match self.param_size(*function, *param, *axis).as_str() {
                        "?" => unknown(),
                        known => known.to_owned(),
                    },
                    _ => {
                        let sizes = self.source(&Atom::Var(*array), Span::default(), depth - 1).sizes;
                        sizes.get(*axis).cloned().unwrap_or_else(unknown)
                    }
                },
                Op::Copy(atoms) => atoms.get(*at).map_or_else(unknown, |atom| self.size(atom, depth - 1)),
                Op::Prim(PrimOp::Binary(op, Prim::I64), args) if name.is_empty() => {
                    let parts: Vec<String> = args.iter().map(|arg| self.size(arg, depth / 2)).collect();
                    let sign = match op {
                        chadwick_core::BinaryOp::Add => "+",
                        chadwick_core::BinaryOp::Sub => "-",
                        chadwick_core::BinaryOp::Mul => "*",
                        _ => return unknown(),
                    };
                    format!("({})", parts.join(sign))
                }
                // The trip count of a loop.
                Op::Loop(parts) if *at == parts.carry.len() && parts.counted => self.trips(&parts.form),
                _ => unknown(),
            },
            _ => unknown(),
        }
    }

    /// Follows the readers of a value; `names` are the variables that hold it or a part of it. Whether more than its shape is read.
    fn reads(&self, statement: &'p Statement, names: &mut FxHashSet<Var>, around: Span, found: &mut Vec<Span>) -> bool {
        let span = self.own(statement.span, around);
        let mut direct = false;
        statement.op.for_each_atom(&mut |atom| direct |= matches!(atom, Atom::Var(var) if names.contains(var)));
        let mut is_read = false;
        if direct {
            match &statement.op {
                Op::Copy(_) | Op::Slice { .. } | Op::Transpose { .. } | Op::Reshape { .. } => {
                    names.extend(statement.binders.iter().map(|binder| binder.var));
                }
                Op::Index { array: Atom::Var(array), .. } if names.contains(array) => {
                    names.extend(statement.binders.iter().map(|binder| binder.var));
                }
                Op::Match { arms, .. } => {
                    names.extend(arms.iter().flat_map(|arm| &arm.binders).map(|binder| binder.var));
                    names.extend(statement.binders.iter().map(|binder| binder.var));
                }
                Op::Dim { .. } => {}
                _ => {
                    is_read = true;
                    if span != Span::default() && !found.contains(&span) {
                        found.push(span);
                    }
                }
            }
        }
        for scope in statement.op.scopes() {
            let result_is_read = scope.block.results.iter().any(|atom| matches!(atom, Atom::Var(var) if names.contains(var)));
            is_read |= result_is_read;
            for statement in &scope.block.statements {
                is_read |= self.reads(statement, names, span, found);
            }
        }
        is_read
    }
}

fn spans(span: Span) -> Vec<Span> {
    if span == Span::default() { Vec::new() } else { vec![span] }
}

/// The tape type inside a type, if it is one or an option of one.
fn tape_of(program: &Program, ty: &Type) -> Option<TypeId> {
    match ty {
        Type::Named(id) => {
            let definition = program.types.get(id.0 as usize)?;
            let is_tape = definition.name.ends_with("_tape") && definition.constructors.iter().all(|one| one.name == "tape");
            is_tape.then_some(*id)
        }
        Type::Sum(constructors) => match &**constructors {
            [none, some] if none.name == "none" && some.name == "some" => some.payload.iter().find_map(|ty| tape_of(program, ty)),
            [only] if only.name == "box" => tape_of(program, only.payload.first()?),
            _ => None,
        },
        Type::Array(array) => tape_of(program, &array.element.as_type()?),
        _ => None,
    }
}

/// The places where a tape is made: the function, the constructor, and what goes in.
fn constructions<'p>(block: &'p Block, tape: TypeId, function: FunctionId, found: &mut Vec<(FunctionId, u32, &'p [Atom])>) {
    for statement in &block.statements {
        if let Op::Construct { ty: Type::Named(made), tag, args } = &statement.op
            && *made == tape
        {
            found.push((function, *tag, args));
        }
        statement.op.scopes().iter().for_each(|scope| constructions(scope.block, tape, function, found));
    }
}

/// The arms that open a constructor of a tape: the names of its fields, and what runs with them.
fn matches_on<'p>(
    block: &'p Block,
    params: &'p [chadwick_core::Binder],
    tape: (TypeId, u32),
    found: &mut Vec<(Vec<Var>, &'p Block)>,
) {
    let mut types: FxHashMap<Var, &Type> = params.iter().map(|param| (param.var, &param.ty)).collect();
    collect_matches(block, &mut types, tape, found);
}

fn collect_matches<'p>(
    block: &'p Block,
    types: &mut FxHashMap<Var, &'p Type>,
    (tape, tag): (TypeId, u32),
    found: &mut Vec<(Vec<Var>, &'p Block)>,
) {
    for statement in &block.statements {
        types.extend(statement.binders.iter().map(|binder| (binder.var, &binder.ty)));
        if let Op::Match { scrutinee, arms, .. } = &statement.op {
            for arm in arms {
                types.extend(arm.binders.iter().map(|binder| (binder.var, &binder.ty)));
                let is_tape =
                    matches!(scrutinee, Atom::Var(var) if matches!(types.get(var), Some(Type::Named(id)) if *id == tape));
                if is_tape && arm.tag == tag {
                    found.push((arm.binders.iter().map(|binder| binder.var).collect(), &arm.body));
                }
            }
        }
        for scope in statement.op.scopes() {
            collect_matches(scope.block, types, (tape, tag), found);
        }
    }
}
