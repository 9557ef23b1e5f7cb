//! The terms of Core: blocks of statements in A-normal form.
//!
//! A statement binds any number of results. Every binder in a program has its own [`Var`]. Array forms range over an index space and
//! have a body, not an array argument; `map`, `zip`, `replicate`, `iota` are all [`Op::Build`]. All forms are pure: an update makes a
//! new array, and whoever executes it may work in place at the last use.

use crate::constant::Const;
use crate::prim::{BinaryOp, PrimOp};
use crate::types::{Prim, Type, TypeDefinition};
use chadwick_source::{Name, Span};

/// A variable. Unique in its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var(pub u32);

/// Index of a function in [`Program::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    pub types: Vec<TypeDefinition>,
    pub functions: Vec<Function>,
    pub entries: Vec<Entry>,
    /// What the source called each variable, for people; indexed by [`Var`].
    pub var_names: Vec<Name>,
    /// Calls that became the bodies of their functions; [`Span::call`] is a place in this list, from one.
    pub inlined: Vec<InlinedCall>,
}

/// A call that became the body of its function.
#[derive(Clone, Debug, PartialEq)]
pub struct InlinedCall {
    pub function: Name,
    pub span: Span,
}

impl Program {
    /// The calls that are open at a place in the code of a function, from inside out, and where each of them is: those that were inlined, too.
    pub fn open_calls(&self, function: &Name, mut place: Span) -> Vec<(Name, Span)> {
        let mut calls = Vec::new();
        // A call stands in front of what is inside it.
        while let Some(inlined) = (place.call as usize).checked_sub(1).and_then(|at| self.inlined.get(at)) {
            calls.push((inlined.function.clone(), place));
            place = inlined.span;
        }
        calls.push((function.clone(), place));
        calls
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub name: Name,
    pub params: Vec<Binder>,
    pub results: Vec<Type>,
    pub body: Block,
    pub span: Span,
}

/// A function that may be called from outside. It takes data only: sizes are read from the arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub name: Name,
    pub function: FunctionId,
    pub params: Vec<EntryValue>,
    pub results: Vec<EntryValue>,
}

/// One parameter or result as the source declares it, and how many Core values it takes up.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryValue {
    /// The parameter's name; empty for results and unnamed parameters.
    pub name: Name,
    /// The type as the source writes it.
    pub source_type: String,
    pub types: Vec<Type>,
    /// Where in the value each of the types is: field names with dots between them, `model.weights` or `0.1`; empty for the whole value.
    pub paths: Vec<Name>,
}

impl EntryValue {
    /// The name of a Core value, with the number of the whole one in front where that has no name.
    pub fn part_name(&self, number: usize, part: usize) -> String {
        let whole = if self.name.is_empty() { number.to_string() } else { self.name.to_string() };
        match self.paths.get(part).map_or("", Name::as_str) {
            "" => whole,
            path => format!("{whole}.{path}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Binder {
    pub var: Var,
    pub ty: Type,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Atom {
    Var(Var),
    Const(Const),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    pub statements: Vec<Statement>,
    pub results: Vec<Atom>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub binders: Vec<Binder>,
    pub op: Op,
    pub span: Span,
}

/// Parameters and a body; the body's results are the function's.
#[derive(Clone, Debug, PartialEq)]
pub struct Lambda {
    pub params: Vec<Binder>,
    pub results: Vec<Type>,
    pub body: Block,
}

/// One axis of an index space: `var` runs over `0..size`. A negative size counts as zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub var: Var,
    pub size: Atom,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Another name for each atom.
    Copy(Vec<Atom>),
    Prim(PrimOp, Vec<Atom>),
    If {
        condition: Atom,
        then: Block,
        otherwise: Block,
    },
    Call {
        function: FunctionId,
        args: Vec<Atom>,
    },
    Closure(Lambda),
    Apply {
        function: Atom,
        args: Vec<Atom>,
    },
    /// A value of the sum type `ty`; `tag` is the constructor's index.
    Construct {
        ty: Type,
        tag: u32,
        args: Vec<Atom>,
    },
    Match {
        scrutinee: Atom,
        arms: Vec<Arm>,
        otherwise: Option<Block>,
    },

    /// One array per result of the body; `inner` states, per result, the sizes of the body's array results (from outside the body).
    Build {
        space: Vec<Axis>,
        body: Block,
        inner: Vec<Vec<Size>>,
    },
    /// `op` takes two times as many parameters as there are neutral elements; the body gives the elements.
    Reduce {
        space: Vec<Axis>,
        op: Lambda,
        neutral: Vec<Atom>,
        body: Block,
        commutative: bool,
    },
    /// Inclusive prefixes along one axis; the results have the axis in front.
    Scan {
        axis: Axis,
        op: Lambda,
        neutral: Vec<Atom>,
        body: Block,
    },
    /// `dest[ix] := dest[ix] op v` for every point; the body gives `rank` indices, then the values. Out of range is ignored.
    Hist {
        space: Vec<Axis>,
        dest: Vec<Atom>,
        rank: usize,
        op: Lambda,
        neutral: Vec<Atom>,
        body: Block,
    },
    /// `dest[ix] := v` for every point; the body gives `rank` indices, then the values. Out of range is ignored; the last wins.
    Scatter {
        space: Vec<Axis>,
        dest: Vec<Atom>,
        rank: usize,
        body: Block,
    },

    /// An array of the atoms (scalars, or arrays of one shape) whose element type is `ty`; `inner` are the sizes of an element.
    ArrayLiteral {
        ty: Type,
        elements: Vec<Atom>,
        inner: Vec<Size>,
    },
    /// `array[i, j]`: an element, or a subarray where there are fewer indices than dimensions.
    Index {
        array: Atom,
        indices: Vec<Atom>,
    },
    Slice {
        array: Atom,
        dims: Vec<SliceDim>,
    },
    /// `array` with the selected part replaced by `value` (an element or an array of the part's shape).
    Update {
        array: Atom,
        dims: Vec<SliceDim>,
        value: Atom,
    },
    /// Result axis `k` is argument axis `permutation[k]`.
    Transpose {
        array: Atom,
        permutation: Vec<usize>,
    },
    /// The same elements in row-major order under new dimensions; the element counts must agree.
    Reshape {
        array: Atom,
        dims: Vec<Atom>,
    },
    /// End to end along the first axis.
    Concat {
        arrays: Vec<Atom>,
    },
    /// The length of one axis.
    Dim {
        array: Atom,
        axis: usize,
    },

    Loop(Box<Loop>),
    /// Fails with the message unless the condition holds. Binds nothing.
    Assert {
        condition: Atom,
        message: Vec<MessagePart>,
    },
    /// Both blocks, possibly at the same time; their results in order.
    Par {
        left: Block,
        right: Block,
    },
    /// The block, with the wish that reverse mode recompute it rather than store its intermediates.
    Recompute(Block),
    /// Prints the values and returns them.
    Trace {
        tag: Name,
        args: Vec<Atom>,
    },

    Differentiate(Box<Differentiate>),
    Custom(Box<Custom>),

    /// Opens an accumulator for each `init`, runs the body, returns the accumulated values and then the body's results.
    WithAccumulators {
        handles: Vec<Binder>,
        init: Vec<Atom>,
        body: Block,
    },
    /// Adds `value` at the path inside the accumulator. Binds nothing.
    Accumulate {
        handle: Atom,
        path: Vec<PathStep>,
        value: Atom,
    },

    /// Opens a log, runs the body, returns one array per column with the rows in the order in which they came, and then the
    /// body's results. Rows are numbered from `start`.
    WithLog {
        handle: Binder,
        start: Atom,
        body: Block,
    },
    /// Appends a row; binds its number, an `i64`.
    Log {
        handle: Atom,
        indices: Vec<Atom>,
        values: Vec<Atom>,
    },
}

/// A size stated by a term: known, or to be taken from the first value that has it (0 where there is none).
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    Known(Atom),
    FromValue,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    pub tag: u32,
    pub binders: Vec<Binder>,
    pub body: Block,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SliceDim {
    Index(Atom),
    /// `count` elements from `start` in steps of `stride`. Missing trailing dimensions of a slice are taken whole.
    Range {
        start: Atom,
        count: Atom,
        stride: Atom,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub enum MessagePart {
    Text(String),
    Value(Atom),
}

/// Binds the final carry, then the number of iterations (if asked for), then one array per emitted value.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    pub carry: Vec<Binder>,
    pub initial: Vec<Atom>,
    pub form: LoopForm,
    /// Its results are the next carry, then one value per emit.
    pub body: Block,
    /// Sizes of each emitted value; as many entries as emits.
    pub emits: Vec<Vec<Size>>,
    /// Whether the trip count (an `i64`) is a result.
    pub counted: bool,
    pub hints: LoopHints,
}

#[derive(Clone, Debug, PartialEq)]
pub enum LoopForm {
    /// `index` (of the bound's integer type) runs over `0..bound`.
    For { index: Binder, bound: Atom },
    /// The condition sees the carry.
    While { condition: Block },
}

/// What the source's attributes wish for the reverse pass. They never change a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopHints {
    pub stripmine: Option<u32>,
    pub bound: Option<u64>,
    pub true_dependency: bool,
    /// The reverse steps commute, so that they may run in the order of the loop and nothing need be kept for them.
    pub commutes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// One tangent in, one tangent out.
    Jvp,
    /// One cotangent in, one cotangent out.
    Vjp,
    /// Many tangents: seeds and results have one more axis in front.
    Jmp,
    /// Many cotangents.
    Mjp,
    /// Which results depend on which arguments, for many assignments of sets to the arguments' numbers: a seed has the shape of an
    /// argument, with a set (a `u64` whose bits below [`SET_BITS`] are its members) for each number, and a number of a result gets the
    /// union of the sets of all numbers on which it depends. That is forward mode with union for addition.
    Dependencies,
}

/// How many members a set can have in [`Mode::Dependencies`].
pub const SET_BITS: u32 = 60;

impl Mode {
    /// Whether seeds and results have one more axis in front.
    pub fn is_many(self) -> bool {
        matches!(self, Mode::Jmp | Mode::Mjp | Mode::Dependencies)
    }

    /// Whether derivatives go from results to arguments.
    pub fn is_reverse(self) -> bool {
        matches!(self, Mode::Vjp | Mode::Mjp)
    }
}

/// The derivative of `function` at `args`, applied to `seeds`. Binds the function's results first if `with_primal`, then the
/// derivative.
#[derive(Clone, Debug, PartialEq)]
pub struct Differentiate {
    pub mode: Mode,
    pub with_primal: bool,
    pub function: Lambda,
    pub args: Vec<Atom>,
    pub seeds: Vec<Atom>,
    /// How many seeds there are, where there may be many.
    pub count: Option<Atom>,
    pub unroll: bool,
}

/// A call of `function` whose derivative in one mode is given by `rule`.
#[derive(Clone, Debug, PartialEq)]
pub struct Custom {
    pub kind: CustomKind,
    pub function: Lambda,
    pub rule: Lambda,
    pub args: Vec<Atom>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CustomKind {
    /// `rule(results, result cotangents)` gives the argument cotangents.
    Vjp,
    /// `function` gives `tape` values more, first, which are not results; `rule(tape, result cotangents)` gives the argument
    /// cotangents.
    VjpTape { tape: usize },
    /// `rule(args, argument tangents)` gives the result tangents.
    Jvp,
}

impl CustomKind {
    /// How many of the function's values are kept for the rule and are not results; they come first.
    pub fn tape(self) -> usize {
        match self {
            CustomKind::VjpTape { tape } => tape,
            CustomKind::Vjp | CustomKind::Jvp => 0,
        }
    }
}

/// A step from a value into a part of it.
#[derive(Clone, Debug, PartialEq)]
pub enum PathStep {
    Index(Vec<Atom>),
    Slice(Vec<SliceDim>),
    /// Component `field` of the payload of constructor `tag`.
    Payload {
        tag: u32,
        field: usize,
    },
}

impl Program {
    /// A new variable; `name` is only for people.
    pub fn fresh(&mut self, name: impl Into<Name>) -> Var {
        self.var_names.push(name.into());
        Var(self.var_names.len() as u32 - 1)
    }

    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }
}

impl Lambda {
    /// The operator `+` on numbers of a type; `fresh` makes its variables.
    pub fn addition(prim: Prim, span: Span, fresh: &mut dyn FnMut(&str, Type) -> Binder) -> Lambda {
        Lambda::binary(BinaryOp::Add, prim, span, fresh)
    }

    /// An operation as an operator.
    pub fn binary(op: BinaryOp, prim: Prim, span: Span, fresh: &mut dyn FnMut(&str, Type) -> Binder) -> Lambda {
        let ty = Type::Prim(prim);
        let params = vec![fresh("a", ty.clone()), fresh("b", ty.clone())];
        let total = fresh("", ty.clone());
        let args = params.iter().map(|param| Atom::Var(param.var)).collect();
        let results = vec![Atom::Var(total.var)];
        let op = Op::Prim(PrimOp::Binary(op, prim), args);
        let statements = vec![Statement { binders: vec![total], op, span }];
        Lambda { params, results: vec![ty], body: Block { statements, results } }
    }

    /// Whether the operator adds its operands, component by component.
    pub fn is_addition(&self) -> bool {
        let count = self.results.len();
        if self.params.len() != 2 * count || self.body.statements.len() != count {
            return false;
        }
        self.body.results.iter().enumerate().all(|(at, result)| {
            self.body.statements.iter().any(|statement| match (&statement.op, statement.binders.as_slice()) {
                (Op::Prim(PrimOp::Binary(BinaryOp::Add, _), args), [binder]) => {
                    let (left, right) = (Atom::Var(self.params[at].var), Atom::Var(self.params[count + at].var));
                    *result == Atom::Var(binder.var) && (*args == [left.clone(), right.clone()] || *args == [right, left])
                }
                _ => false,
            })
        })
    }
}

impl From<Var> for Atom {
    fn from(var: Var) -> Atom {
        Atom::Var(var)
    }
}

impl From<Const> for Atom {
    fn from(constant: Const) -> Atom {
        Atom::Const(constant)
    }
}

impl SliceDim {
    /// The indices of a selection of one element or subarray.
    pub fn indices(dims: &[SliceDim]) -> Option<Vec<Atom>> {
        let index = |dim: &SliceDim| match dim {
            SliceDim::Index(index) => Some(index.clone()),
            SliceDim::Range { .. } => None,
        };
        dims.iter().map(index).collect()
    }
}

impl Op {
    /// Reads a part of an array.
    pub fn part(array: Atom, dims: Vec<SliceDim>) -> Op {
        match SliceDim::indices(&dims) {
            Some(indices) => Op::Index { array, indices },
            None => Op::Slice { array, dims },
        }
    }
}

impl Atom {
    pub fn as_var(&self) -> Option<Var> {
        match self {
            Atom::Var(var) => Some(*var),
            Atom::Const(_) => None,
        }
    }

    pub fn i64(value: i64) -> Atom {
        Atom::Const(Const::I64(value))
    }

    pub fn bool(value: bool) -> Atom {
        Atom::Const(Const::Bool(value))
    }
}
