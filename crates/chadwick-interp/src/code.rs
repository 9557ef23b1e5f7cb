//! Flat code: what a Core function becomes before it runs.
//!
//! Array forms and loops are jumps within one frame; only calls make frames. An operand is a register or a constant; an operand that is
//! a variable's last use moves the value out, so that a unique array stays unique.

use chadwick_core::{BinaryOp, CompareOp, CustomKind, Element, FunctionId, Mode, PrimOp, UnaryOp};
use chadwick_core::{Const, Type};
use chadwick_source::{Name, Span};
use std::rc::Rc;

/// A register of the frame.
pub(crate) type Register = u32;

/// A position in the code.
pub(crate) type Label = u32;

/// A register, a register to be emptied, or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operand(pub u32);

impl Operand {
    pub const CONSTANT: u32 = 1 << 31;
    pub const TAKE: u32 = 1 << 30;
    pub const INDEX: u32 = Operand::TAKE - 1;

    pub fn register(register: Register) -> Operand {
        Operand(register)
    }

    pub fn take(register: Register) -> Operand {
        Operand(register | Operand::TAKE)
    }

    pub fn constant(index: u32) -> Operand {
        Operand(index | Operand::CONSTANT)
    }

    pub fn is_constant(self) -> bool {
        self.0 & Operand::CONSTANT != 0
    }

    pub fn is_take(self) -> bool {
        self.0 & Operand::TAKE != 0
    }

    pub fn index(self) -> usize {
        (self.0 & Operand::INDEX) as usize
    }
}

/// A run of operands in [`Code::operands`]. As a list of destinations it holds plain registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    pub start: u32,
    pub len: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum Inst {
    Move {
        dst: Register,
        src: Operand,
    },
    Clear {
        register: Register,
    },
    Unary {
        op: UnaryOp,
        dst: Register,
        x: Operand,
    },
    Binary {
        op: BinaryOp,
        dst: Register,
        x: Operand,
        y: Operand,
    },
    Compare {
        op: CompareOp,
        dst: Register,
        x: Operand,
        y: Operand,
    },
    Convert {
        op: PrimOp,
        dst: Register,
        x: Operand,
    },
    Prim {
        op: PrimOp,
        dst: Register,
        args: List,
    },
    Jump {
        target: Label,
    },
    /// A jump backwards: the place to look at the clock.
    JumpBack {
        target: Label,
    },
    JumpUnless {
        condition: Operand,
        target: Label,
    },
    Call {
        function: FunctionId,
        args: List,
        dst: List,
    },
    Apply {
        function: Operand,
        args: List,
        dst: List,
    },
    Return {
        values: List,
    },
    Closure {
        lambda: u32,
        captures: List,
        dst: Register,
    },
    Construct {
        tag: u32,
        args: List,
        dst: Register,
    },
    /// Jumps by the tag: `targets` holds one label per constructor.
    Branch {
        scrutinee: Operand,
        targets: List,
    },
    /// The payload of a sum into registers.
    Unpack {
        sum: Operand,
        dst: List,
    },

    /// Sets the indices to zero and the bounds to the sizes; jumps to the end of an empty space.
    SpaceStart {
        sizes: List,
        space: u32,
        end: Label,
    },
    /// The next point, or on to the next instruction behind the last one.
    SpaceNext {
        space: u32,
        body: Label,
    },
    /// `space` without sizes makes a growing builder.
    BuildStart {
        builder: Register,
        spec: u32,
        outer: List,
        inner: List,
    },
    BuildPush {
        builder: Register,
        value: Operand,
    },
    BuildFinish {
        builder: Register,
        dst: Register,
    },
    /// The shape of an array as an array.
    ShapeOf {
        dst: Register,
        array: Operand,
    },
    /// Fails unless the array has the shape.
    CheckShape {
        array: Register,
        shape: Register,
    },
    /// Jumps if the indices are outside the array.
    JumpOutside {
        array: Register,
        indices: List,
        target: Label,
    },
    /// A copy of the element or subarray.
    Load {
        dst: Register,
        array: Register,
        indices: List,
    },
    /// Writes an element or subarray into the array in the register.
    Store {
        array: Register,
        indices: List,
        value: Operand,
    },

    /// For a counted loop: sets counter to zero in the bound's type, and skips the loop if there is nothing to do.
    CountStart {
        counter: Register,
        limit: Register,
        bound: Operand,
        end: Label,
    },
    /// Counts up and jumps to the body while below the limit.
    CountNext {
        counter: Register,
        limit: Register,
        body: Label,
    },
    Increment {
        register: Register,
    },

    ArrayLiteral {
        spec: u32,
        elements: List,
        inner: List,
        dst: Register,
    },
    Index {
        dst: Register,
        array: Operand,
        indices: List,
    },
    Slice {
        dst: Register,
        array: Operand,
        dims: u32,
        operands: List,
    },
    Update {
        dst: Register,
        array: Operand,
        dims: u32,
        operands: List,
        value: Operand,
    },
    Transpose {
        dst: Register,
        array: Operand,
        permutation: List,
    },
    Reshape {
        dst: Register,
        array: Operand,
        dims: List,
    },
    Concat {
        dst: Register,
        arrays: List,
    },
    Dim {
        dst: Register,
        array: Operand,
        axis: u32,
    },

    Assert {
        condition: Operand,
        message: u32,
        values: List,
    },
    Trace {
        tag: u32,
        args: List,
        dst: List,
    },
    Differentiate {
        spec: u32,
        captures: List,
        operands: List,
        dst: List,
    },
    Custom {
        spec: u32,
        captures: List,
        rule_captures: List,
        args: List,
        dst: List,
    },
    OpenAccumulators {
        init: List,
        handles: List,
    },
    CloseAccumulators {
        dst: List,
    },
    /// Opens a log with the columns in the table of logs.
    OpenLog {
        columns: u32,
        start: Operand,
        handle: Register,
    },
    CloseLog {
        dst: List,
    },
    /// Appends a row; `dst` is its number.
    Log {
        handle: Operand,
        row: List,
        dst: Register,
    },
    Accumulate {
        handle: Operand,
        path: u32,
        operands: List,
        value: Operand,
    },
}

/// An index space: registers of the indices and of their bounds.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub indices: Vec<Register>,
    pub bounds: Vec<Register>,
}

/// What arrays a builder makes.
#[derive(Clone, Debug)]
pub(crate) struct BuildSpec {
    pub element: Element,
    pub inner_rank: usize,
    /// Whether the number of elements is not known beforehand.
    pub growing: bool,
}

/// The kinds of dimensions of a slice; their operands are in the instruction, one for an index and three for a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DimKind {
    Index,
    Range,
}

#[derive(Clone, Debug)]
pub(crate) enum MessageText {
    Text(String),
    Value,
}

#[derive(Clone, Debug)]
pub(crate) enum PathKind {
    Index(usize),
    Slice(Vec<DimKind>),
    Payload { tag: u32, field: usize },
}

#[derive(Debug)]
pub(crate) struct DifferentiateSpec {
    pub mode: Mode,
    pub with_primal: bool,
    pub function: Rc<Code>,
    pub args: usize,
    pub seeds: usize,
    pub params: Vec<Type>,
    pub results: Vec<Type>,
}

#[derive(Debug)]
pub(crate) struct CustomSpec {
    pub kind: CustomKind,
    pub function: Rc<Code>,
    pub rule: Rc<Code>,
}

/// The code of a function or lambda. Its frame starts with the captures, then the parameters.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub name: Name,
    pub params: usize,
    pub registers: usize,
    pub insts: Vec<Inst>,
    pub spans: Vec<Span>,
    pub operands: Vec<Operand>,
    pub constants: Vec<crate::value::Value>,
    pub lambdas: Vec<Rc<Code>>,
    pub spaces: Vec<Space>,
    pub builds: Vec<BuildSpec>,
    pub dims: Vec<Vec<DimKind>>,
    pub messages: Vec<Vec<MessageText>>,
    pub tags: Vec<Name>,
    pub paths: Vec<Vec<PathKind>>,
    pub differentiates: Vec<DifferentiateSpec>,
    pub customs: Vec<CustomSpec>,
    /// What the columns of each log hold.
    pub logs: Vec<Vec<Element>>,
}

impl Code {
    pub fn list(&self, list: List) -> &[Operand] {
        &self.operands[list.start as usize..(list.start + list.len) as usize]
    }

    pub fn constant(&self, operand: Operand) -> &crate::value::Value {
        &self.constants[operand.index()]
    }
}

/// A scalar as a key: the constants of a code are shared by bits.
pub(crate) type ConstantKey = Const;
