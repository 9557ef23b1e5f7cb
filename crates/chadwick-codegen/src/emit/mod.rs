//! Core to Loop IR, one function at a time.
//!
//! The emitter walks a function once, with an environment from Core variables to [`Value`]s. Ownership follows [`crate::liveness`]: an
//! operand that keeps its value takes the reference if this is the owner's last use and else a new one; whatever dies at a statement and
//! was not taken is released behind it.

mod accumulate;
mod arrays;
mod checks;
mod collect;
mod concat;
mod contraction;
mod control;
mod forms;
mod inherit;
mod log;
mod loops;
mod ranges;
mod record;

pub(crate) use forms::{prefix_operator, simple_operator};

use crate::borrow::{Owned, Taken};
use crate::ir::*;
use crate::layout::Layouts;
use crate::liveness::{Deaths, Liveness};
use crate::{MessageText, Site, SiteKind, schedule};
use chadwick_core as core;
use chadwick_core::{Atom, Block, Prim, Program, Statement, Type, Var};
use chadwick_source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// What a Core variable is in Loop IR.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Scalar(Exp),
    Array(Array),
    Sum(Exp, SumId),
    Handle(Handle),
}

/// An array, or a view of one.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub elem: Elem,
    pub data: Exp,
    pub owner: Exp,
    pub dims: Vec<Exp>,
    /// Steps in elements per dimension; row-major if absent.
    pub strides: Option<Vec<Exp>>,
}

/// An open accumulator.
#[derive(Clone, Debug)]
pub(crate) enum Handle {
    Scalar(Local, Prim),
    /// Writable in place.
    Array(Array),
    /// A pointer to a sum.
    Sum(Exp, SumId),
    /// A pointer to a log.
    Log(Exp),
}

/// A place in which an array is to be built.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    pub data: Exp,
    pub dims: Vec<Exp>,
    /// Whether the array gets these sizes only later, and may have others of as many elements.
    pub reshaped: bool,
}

/// What all functions of a program share.
pub(crate) struct Shared<'p> {
    pub program: &'p Program,
    pub liveness: &'p [Liveness],
    pub owned: &'p Owned,
    pub recursive: &'p [bool],
    pub layouts: Layouts,
    pub sites: Vec<Site>,
    known_sites: FxHashMap<(usize, Span, u32), SiteId>,
    /// Parameters that may be given with strides.
    pub strided: Vec<Vec<bool>>,
    /// Whether `strided` changed: callers and callees disagree and must be emitted again.
    pub changed: bool,
    pub strict: bool,
    pub source_line: &'p dyn Fn(Span) -> Option<String>,
}

impl<'p> Shared<'p> {
    pub fn new(
        program: &'p Program,
        liveness: &'p [Liveness],
        owned: &'p Owned,
        recursive: &'p [bool],
        strict: bool,
        source_line: &'p dyn Fn(Span) -> Option<String>,
    ) -> Self {
        Shared {
            program,
            liveness,
            owned,
            recursive,
            layouts: Layouts::new(program),
            sites: Vec::new(),
            known_sites: FxHashMap::default(),
            strided: program.functions.iter().map(|function| vec![false; function.params.len()]).collect(),
            changed: false,
            strict,
            source_line,
        }
    }

    /// Forgets what emitting all functions left behind, but not what it found out.
    pub fn restart(&mut self) {
        self.changed = false;
        self.sites.clear();
        self.known_sites.clear();
    }
}

enum FrameKind {
    Conditional,
    Loop { index: Local, bound: Exp, before: Vec<Stm> },
}

struct Frame {
    stms: Vec<Stm>,
    kind: FrameKind,
    /// How many facts were known when the frame was opened.
    facts: usize,
}

/// Something known about sizes, as long as its frame is open.
#[derive(Clone, Debug)]
enum Fact {
    Equal(Local, Exp),
    /// The local is the other value, or zero where that is negative.
    Clamped(Local, Exp),
    NotNegative(Local),
    AtLeastZero(ranges::Linear),
}

/// Operands of a statement, or results of a block: who may take what.
pub(crate) struct Uses {
    counts: FxHashMap<Var, usize>,
    dying: Vec<Var>,
    /// Whether references can be taken one after the other.
    in_order: bool,
}

pub(crate) struct Emitter<'s, 'p> {
    pub shared: &'s mut Shared<'p>,
    pub function: usize,
    pub live: &'p Liveness,
    locals: Vec<LocalInfo>,
    depths: Vec<usize>,
    frames: Vec<Frame>,
    env: FxHashMap<Var, Value>,
    /// Owners that are not ours to release.
    kept: FxHashSet<Var>,
    moved: FxHashSet<Var>,
    /// Blocks to which there is only the one reference for certain.
    unshared: FxHashSet<Local>,
    span: Span,
    facts: Vec<Fact>,
    not_negative: FxHashSet<Local>,
    bounds: FxHashMap<Local, Exp>,
    /// How boolean variables come about.
    conditions: FxHashMap<Var, &'p core::Op>,
    /// Locals that are sums of sizes and counters.
    sums_of_indices: FxHashMap<Local, ranges::Linear>,
    /// The smaller or the larger of two sums.
    extremes: FxHashMap<Local, (core::BinaryOp, [ranges::Linear; 2])>,
    destinations: FxHashMap<Var, Destination>,
    /// Arrays about to be made, and those that leave them their memory.
    heirs: FxHashMap<Var, Var>,
    /// Arrays about to be made that have their memory already.
    rooms: FxHashMap<Var, Array>,
    /// Concatenations that have their memory before they are reached.
    joins: FxHashMap<Var, concat::Joined>,
    /// Pointers to rows of arrays under construction, with the pointer to the whole.
    rows: FxHashMap<Local, Exp>,
    /// Owners whose reference somebody takes.
    consumed: FxHashSet<Var>,
    /// Owners whose memory is needed beyond the block in which they come into being.
    outliving: FxHashSet<Var>,
    /// Arrays in the frame of the function.
    in_frame: FxHashSet<Local>,
    /// Elements that have just been computed, by array and indices.
    forwards: FxHashMap<Var, (Vec<Exp>, Exp)>,
    /// Matrix products that were formed ahead of the loop that needs their elements, with the axes of the loop.
    products: FxHashMap<Var, (Array, Vec<Var>)>,
    /// Locals that are accumulators of scalars.
    sums: FxHashSet<Local>,
    accumulators: Vec<Accumulator>,
    last_line: String,
}

/// Emits one function.
pub(crate) fn emit_function<'p>(shared: &mut Shared<'p>, number: usize) -> Function {
    let program = shared.program;
    let function = &program.functions[number];
    let live = &shared.liveness[number];
    let Taken { consumed, outliving } = crate::borrow::taken(function, live, shared.owned);
    let mut emitter = Emitter {
        shared,
        function: number,
        live,
        locals: Vec::new(),
        depths: Vec::new(),
        frames: vec![Frame { stms: Vec::new(), kind: FrameKind::Conditional, facts: 0 }],
        env: FxHashMap::default(),
        kept: FxHashSet::default(),
        moved: FxHashSet::default(),
        unshared: FxHashSet::default(),
        span: function.span,
        facts: Vec::new(),
        not_negative: FxHashSet::default(),
        bounds: FxHashMap::default(),
        conditions: FxHashMap::default(),
        sums_of_indices: FxHashMap::default(),
        extremes: FxHashMap::default(),
        destinations: FxHashMap::default(),
        heirs: FxHashMap::default(),
        rooms: FxHashMap::default(),
        joins: FxHashMap::default(),
        rows: FxHashMap::default(),
        consumed,
        outliving,
        in_frame: FxHashSet::default(),
        forwards: FxHashMap::default(),
        products: FxHashMap::default(),
        sums: FxHashSet::default(),
        accumulators: Vec::new(),
        last_line: String::new(),
    };
    emitter.function(function)
}

impl<'p> Emitter<'_, 'p> {
    fn function(&mut self, function: &'p core::Function) -> Function {
        let site = self.site();
        let (mut params, mut written_back) = (Vec::new(), Vec::new());
        for (number, param) in function.params.iter().enumerate() {
            self.parameter(number, param, &mut params, &mut written_back);
        }
        for (number, param) in function.params.iter().enumerate() {
            match self.shared.owned[self.function][number] {
                // An owned parameter that nobody uses dies at once.
                true if !self.used_somewhere(function, param.var) => self.release_root(param.var),
                true => {}
                false => {
                    self.kept.insert(param.var);
                }
            }
        }
        self.statements(&function.body);
        let mut uses = self.result_uses(&function.body);
        let (mut returned, mut results) = (Vec::new(), Vec::new());
        for (atom, ty) in function.body.results.iter().zip(&function.results) {
            let value = self.take_row_major(atom, &mut uses);
            results.extend(self.exploded_types(ty));
            returned.extend(self.exploded(&value));
        }
        // Returned expressions are read after the last statement, so they must not name what is released there.
        let returned = returned.into_iter().map(|exp| self.simple(exp)).collect();
        self.end_block(&function.body);
        let mut body = self.frames.pop().map(|frame| frame.stms).unwrap_or_default();
        self.look_at_clock_before_calls(&mut body, site);
        let comment = (self.shared.source_line)(function.span).unwrap_or_default();
        Function {
            name: format!("{}_{}_fn", c_name(&function.name), self.function),
            locals: std::mem::take(&mut self.locals),
            params,
            results,
            body,
            returned,
            written_back,
            recursive: self.shared.recursive[self.function],
            accumulators: std::mem::take(&mut self.accumulators),
            sums: std::mem::take(&mut self.sums),
            exact: self.sums_of_indices.keys().copied().collect(),
            rows: self.rows.keys().copied().collect(),
            site,
            comment,
        }
    }

    fn used_somewhere(&self, function: &core::Function, var: Var) -> bool {
        let mut found = false;
        for statement in &function.body.statements {
            for used in core::visit::op_free_variables(&statement.op) {
                found |= self.live.root(used) == Some(var);
            }
        }
        let in_results = |atom: &Atom| matches!(atom, Atom::Var(used) if self.live.root(*used) == Some(var));
        found || function.body.results.iter().any(in_results)
    }

    fn parameter(
        &mut self,
        number: usize,
        param: &core::Binder,
        params: &mut Vec<Local>,
        written_back: &mut Vec<(Local, Local)>,
    ) {
        let name = self.var_name(param.var);
        let value = match &param.ty {
            Type::Prim(prim) => {
                let local = self.local(&name, Ty::Prim(*prim));
                params.push(local);
                Value::Scalar(Exp::Local(local))
            }
            Type::Array(array) => {
                let elem = self.shared.layouts.elem(array);
                let strided = self.shared.strided[self.function][number];
                let array = self.array_parameter(&name, elem, array.dims.len(), strided, true, params);
                Value::Array(array)
            }
            Type::Sum(_) | Type::Named(_) => {
                let id = self.shared.layouts.sum(&param.ty);
                let local = self.local(&name, Ty::Sum(id));
                params.push(local);
                Value::Sum(Exp::Local(local), id)
            }
            Type::Accumulator(inner) => Value::Handle(match &**inner {
                Type::Prim(prim) => {
                    let pointer = self.local(&format!("{name}_place"), Ty::Place(Box::new(Ty::Prim(*prim))));
                    let local = self.local(&name, Ty::Prim(*prim));
                    params.push(pointer);
                    written_back.push((pointer, local));
                    self.sums.insert(local);
                    Handle::Scalar(local, *prim)
                }
                Type::Array(array) => {
                    let elem = self.shared.layouts.elem(array);
                    let array = self.array_parameter(&name, elem, array.dims.len(), false, false, params);
                    self.note_accumulator(&array);
                    Handle::Array(array)
                }
                other => {
                    let id = self.shared.layouts.sum(other);
                    let local = self.local(&name, Ty::Place(Box::new(Ty::Sum(id))));
                    params.push(local);
                    Handle::Sum(Exp::Local(local), id)
                }
            }),
            Type::Log(_) => {
                let ty = self.shared.layouts.ty(&param.ty);
                let local = self.local(&name, ty);
                params.push(local);
                Value::Handle(Handle::Log(Exp::Local(local)))
            }
            Type::Function(_) => Value::Scalar(Exp::Const(core::Const::Bool(false))),
        };
        self.env.insert(param.var, value);
    }

    fn array_parameter(
        &mut self,
        name: &str,
        elem: Elem,
        rank: usize,
        strided: bool,
        counted: bool,
        params: &mut Vec<Local>,
    ) -> Array {
        let data = self.local(name, Ty::Data(elem));
        params.push(data);
        let owner = match counted {
            true => {
                let owner = self.local(&format!("{name}_owner"), Ty::Owner);
                params.push(owner);
                Exp::Local(owner)
            }
            false => Exp::Null,
        };
        let mut dims = Vec::new();
        for axis in 0..rank {
            let dim = self.local(&format!("{name}_n{axis}"), Ty::Prim(Prim::I64));
            self.not_negative.insert(dim);
            params.push(dim);
            dims.push(Exp::Local(dim));
        }
        let strides = strided.then(|| {
            let strides = (0..rank).map(|axis| {
                let stride = self.local(&format!("{name}_s{axis}"), Ty::Prim(Prim::I64));
                params.push(stride);
                Exp::Local(stride)
            });
            strides.collect()
        });
        Array { elem, data: Exp::Local(data), owner, dims, strides }
    }

    /// Remembers that the local with the data of an array is only used for adding to it.
    pub(crate) fn note_accumulator(&mut self, array: &Array) {
        if let Exp::Local(data) = array.data {
            let count = array.dims.iter().cloned().fold(Exp::i64(1), Exp::mul);
            self.accumulators.push(Accumulator { data, elem: array.elem, count });
        }
    }

    /// The locals that a value of the type is passed as.
    fn exploded_types(&mut self, ty: &Type) -> Vec<Ty> {
        match self.shared.layouts.ty(ty) {
            Ty::Array(elem, rank) => {
                let mut types = vec![Ty::Data(elem), Ty::Owner];
                types.extend((0..rank).map(|_| Ty::Prim(Prim::I64)));
                types
            }
            other => vec![other],
        }
    }

    /// A row-major value as what it is passed as.
    fn exploded(&self, value: &Value) -> Vec<Exp> {
        match value {
            Value::Scalar(exp) | Value::Sum(exp, _) => vec![exp.clone()],
            Value::Array(array) => [vec![array.data.clone(), array.owner.clone()], array.dims.clone()].concat(),
            Value::Handle(_) => Vec::new(),
        }
    }

    // Names and locals

    pub(crate) fn var_name(&self, var: Var) -> String {
        let name = self.shared.program.var_names.get(var.0 as usize).map_or("", |name| name.as_str());
        match c_name(name) {
            name if name.is_empty() => String::from("t"),
            name => name,
        }
    }

    pub(crate) fn local(&mut self, name: &str, ty: Ty) -> Local {
        let local = Local(self.locals.len() as u32);
        self.locals.push(LocalInfo { name: name.to_owned(), ty });
        self.depths.push(self.frames.len());
        local
    }

    /// A new local with a value.
    pub(crate) fn bind(&mut self, name: &str, ty: Ty, exp: Exp) -> Exp {
        let local = self.local(name, ty);
        self.push(Stm::Let(local, exp));
        Exp::Local(local)
    }

    /// A size or offset as something that can be repeated at no cost.
    pub(crate) fn size_local(&mut self, name: &str, exp: Exp) -> Exp {
        match exp {
            Exp::Local(_) | Exp::Const(_) => exp,
            other => self.bind(name, Ty::Prim(Prim::I64), other),
        }
    }

    /// The expression as a local, a constant or null.
    pub(crate) fn simple(&mut self, exp: Exp) -> Exp {
        match exp {
            Exp::Local(_) | Exp::Const(_) | Exp::Null => exp,
            other => {
                let ty = self.type_of(&other);
                self.bind("t", ty, other)
            }
        }
    }

    /// The type of an expression that is a value of the program.
    fn type_of(&self, exp: &Exp) -> Ty {
        match exp {
            Exp::Local(local) => self.locals[local.0 as usize].ty.clone(),
            Exp::Const(constant) => Ty::Prim(constant.prim()),
            Exp::Prim(op, _) => Ty::Prim(op.result()),
            Exp::Null => Ty::Owner,
            Exp::At(data, _) => self.type_of(data),
            Exp::Load(data, _) => match self.type_of(data) {
                Ty::Data(Elem::Prim(prim)) => Ty::Prim(prim),
                Ty::Data(Elem::Sum(id)) => Ty::Sum(id),
                other => other,
            },
            Exp::Test(..) | Exp::And(..) | Exp::Or(..) | Exp::Not(_) => Ty::Prim(Prim::Bool),
            Exp::Select(_, then, _) => self.type_of(then),
            _ => Ty::Prim(Prim::I64),
        }
    }

    // Statements and frames

    pub(crate) fn push(&mut self, stm: Stm) {
        if let Some(frame) = self.frames.last_mut() {
            frame.stms.push(stm);
        }
    }

    fn open(&mut self, kind: FrameKind) {
        self.frames.push(Frame { stms: Vec::new(), kind, facts: self.facts.len() });
    }

    pub(crate) fn open_branch(&mut self) {
        self.open(FrameKind::Conditional);
    }

    pub(crate) fn close_branch(&mut self) -> Vec<Stm> {
        let Some(frame) = self.frames.pop() else { return Vec::new() };
        self.facts.truncate(frame.facts);
        frame.stms
    }

    // Sites

    pub(crate) fn site(&mut self) -> SiteId {
        let key = (self.function, self.span, self.span.call);
        if let Some(site) = self.shared.known_sites.get(&key) {
            return *site;
        }
        let site = self.new_site(SiteKind::Plain);
        self.shared.known_sites.insert(key, site);
        site
    }

    fn new_site(&mut self, kind: SiteKind) -> SiteId {
        let name = self.shared.program.functions[self.function].name.clone();
        self.shared.sites.push(Site { function: name, span: self.span, kind });
        SiteId(self.shared.sites.len() as u32 - 1)
    }

    pub(crate) fn assertion_site(&mut self, message: &[core::MessagePart]) -> SiteId {
        let parts = message.iter().map(|part| match part {
            core::MessagePart::Text(text) => MessageText::Text(text.clone()),
            core::MessagePart::Value(atom) => MessageText::Value(self.atom_type(atom)),
        });
        let parts = parts.collect();
        self.new_site(SiteKind::Assertion(parts))
    }

    pub(crate) fn atom_type(&self, atom: &Atom) -> Type {
        match atom {
            Atom::Const(constant) => Type::Prim(constant.prim()),
            Atom::Var(var) => self.live.types.get(var).cloned().unwrap_or(Type::I64),
        }
    }

    // Values

    pub(crate) fn value(&self, atom: &Atom) -> Value {
        match atom {
            Atom::Const(constant) => Value::Scalar(Exp::Const(*constant)),
            // A variable without a value cannot be in a verified program.
            Atom::Var(var) => self.env.get(var).cloned().unwrap_or(Value::Scalar(Exp::i64(0))),
        }
    }

    pub(crate) fn scalar(&self, atom: &Atom) -> Exp {
        match self.value(atom) {
            Value::Scalar(exp) => exp,
            _ => Exp::i64(0),
        }
    }

    pub(crate) fn array(&self, atom: &Atom) -> Array {
        match self.value(atom) {
            Value::Array(array) => array,
            _ => Array { elem: Elem::Unit, data: Exp::Null, owner: Exp::Null, dims: Vec::new(), strides: None },
        }
    }

    pub(crate) fn set(&mut self, var: Var, value: Value) {
        self.env.insert(var, value);
    }

    // Ownership

    pub(crate) fn statement_uses(&self, statement: &Statement, deaths: &Deaths) -> Uses {
        let mut counts = FxHashMap::default();
        statement.op.for_each_atom(&mut |atom| {
            if let Atom::Var(var) = atom
                && let Some(root) = self.live.root(*var)
            {
                *counts.entry(root).or_insert(0) += 1;
            }
        });
        Uses { counts, dying: deaths.operands.clone(), in_order: false }
    }

    pub(crate) fn result_uses(&self, block: &Block) -> Uses {
        let mut counts = FxHashMap::default();
        for atom in &block.results {
            if let Atom::Var(var) = atom
                && let Some(root) = self.live.root(*var)
            {
                *counts.entry(root).or_insert(0) += 1;
            }
        }
        Uses { counts, dying: self.live.dying_results(block).to_vec(), in_order: true }
    }

    /// Whether taking the atom would take the reference of its owner.
    pub(crate) fn takes_over(&self, atom: &Atom, uses: &Uses) -> bool {
        let Atom::Var(var) = atom else { return false };
        self.live.root(*var).is_some_and(|root| !self.kept.contains(&root)) && self.is_last_use(*var, uses)
    }

    /// Whether nobody else needs what the variable shows, all of which it shows.
    pub(crate) fn is_last_use(&self, var: Var, uses: &Uses) -> bool {
        let Some(root) = self.live.root(var) else { return false };
        !self.live.is_part(var) && uses.dying.contains(&root) && uses.counts.get(&root).copied().unwrap_or(0) == 1
    }

    /// The value with a reference of its own.
    pub(crate) fn take(&mut self, atom: &Atom, uses: &mut Uses) -> Value {
        let value = self.value(atom);
        let Atom::Var(var) = atom else { return value };
        let Some(root) = self.live.root(*var) else { return value };
        match self.takes_over(atom, uses) {
            true => {
                self.moved.insert(root);
            }
            false => self.retain(&value),
        }
        self.count_down(root, uses);
        value
    }

    fn count_down(&self, root: Var, uses: &mut Uses) {
        if uses.in_order
            && let Some(count) = uses.counts.get_mut(&root)
        {
            *count = count.saturating_sub(1);
        }
    }

    /// Looks at a result without taking it.
    pub(crate) fn pass_by(&self, atom: &Atom, uses: &mut Uses) {
        if let Atom::Var(var) = atom
            && let Some(root) = self.live.root(*var)
        {
            self.count_down(root, uses);
        }
    }

    /// Like [`Emitter::take`]; a strided array is copied.
    pub(crate) fn take_row_major(&mut self, atom: &Atom, uses: &mut Uses) -> Value {
        match self.value(atom) {
            Value::Array(array) if array.strides.is_some() => {
                self.pass_by(atom, uses);
                Value::Array(self.compact(&array))
            }
            _ => self.take(atom, uses),
        }
    }

    pub(crate) fn retain(&mut self, value: &Value) {
        match value {
            Value::Array(array) if array.elem != Elem::Unit && array.owner != Exp::Null => {
                if let Exp::Local(owner) = &array.owner {
                    self.unshared.remove(owner);
                }
                self.push(Stm::Retain(array.owner.clone(), Counted::Block(array.elem)));
            }
            Value::Sum(exp, id) if self.shared.layouts.counted(&Ty::Sum(*id)) => {
                self.push(Stm::Retain(exp.clone(), Counted::Sum(*id)));
            }
            _ => {}
        }
    }

    pub(crate) fn release(&mut self, value: &Value) {
        match value {
            Value::Array(array) if array.elem != Elem::Unit && array.owner != Exp::Null => {
                self.push(Stm::Release(array.owner.clone(), Counted::Block(array.elem)));
            }
            Value::Sum(exp, id) if self.shared.layouts.counted(&Ty::Sum(*id)) => {
                self.push(Stm::Release(exp.clone(), Counted::Sum(*id)));
            }
            _ => {}
        }
    }

    /// Releases an owner unless its reference was taken or is not ours.
    pub(crate) fn release_root(&mut self, root: Var) {
        if self.moved.remove(&root) || self.kept.contains(&root) {
            return;
        }
        if let Some(value) = self.env.get(&root).cloned() {
            self.release(&value);
        }
    }

    pub(crate) fn release_roots(&mut self, roots: &[Var]) {
        roots.iter().for_each(|root| self.release_root(*root));
    }

    /// Releases what dies with the results of a block and was not taken.
    pub(crate) fn end_block(&mut self, block: &Block) {
        let live = self.live;
        self.release_roots(live.dying_results(block));
    }

    // Blocks

    pub(crate) fn statements(&mut self, block: &'p Block) {
        stacker::maybe_grow(256 * 1024, 4 * 1024 * 1024, || {
            let scans = schedule::Scans::of(&block.statements, &block.results, self.shared.strict);
            let mut at = 0;
            while let Some(statement) = block.statements.get(at) {
                let end = match statement.op {
                    core::Op::Build { .. } | core::Op::Reduce { .. } | core::Op::Scan { .. } => {
                        let formed = |statement: &Statement| {
                            statement.binders.iter().any(|binder| self.products.contains_key(&binder.var))
                        };
                        let end = schedule::group_end(&block.statements, at, &scans);
                        (at + 1..end).find(|next| formed(&block.statements[*next]) || formed(statement)).unwrap_or(end)
                    }
                    _ => at + 1,
                };
                self.join_ahead(block, at, end);
                self.group(block, at, end);
                at = end;
            }
        });
    }

    /// One statement, or several that share a loop.
    fn group(&mut self, block: &'p Block, start: usize, end: usize) {
        let members = &block.statements[start..end];
        let outer_span = self.span;
        match members {
            [statement] if !matches!(statement.op, core::Op::Build { .. } | core::Op::Reduce { .. } | core::Op::Scan { .. }) => {
                let empty = Deaths::default();
                let live = self.live;
                let deaths = live.deaths(statement).unwrap_or(&empty);
                self.enter(statement.span);
                self.operation(statement, deaths);
            }
            [statement] if self.formed_sum(statement) || self.contraction(statement) || self.accumulated_products(statement) => {}
            members => {
                let unstored = match members.len() {
                    1 => FxHashSet::default(),
                    _ => schedule::virtual_arrays(members, &block.statements[end..], &block.results),
                };
                self.together(members, |var| !unstored.contains(&var));
            }
        }
        let live = self.live;
        for deaths in members.iter().filter_map(|member| live.deaths(member)) {
            self.release_roots(&deaths.operands);
            self.release_roots(&deaths.after);
            self.release_roots(&deaths.unused);
        }
        self.span = outer_span;
    }

    pub(crate) fn enter(&mut self, span: Span) {
        self.span = span;
        self.comment(span);
    }

    fn comment(&mut self, span: Span) {
        if let Some(line) = (self.shared.source_line)(span)
            && line != self.last_line
        {
            self.last_line.clone_from(&line);
            self.push(Stm::Comment(line));
        }
    }
}

/// The name with only what C allows.
pub(crate) fn c_name(name: &str) -> String {
    let mut result: String = name
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => c,
            _ => '_',
        })
        .collect();
    if result.starts_with(|c: char| c.is_ascii_digit()) {
        result.insert(0, '_');
    }
    result
}
