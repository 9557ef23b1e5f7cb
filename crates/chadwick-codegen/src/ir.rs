//! Loop IR: what Core becomes before it is C.
//!
//! A function is a tree of statements over typed locals. An array is not one value but several locals (a pointer to its first element,
//! the block that owns its memory, one size per dimension), so that views cost nothing and loops see plain pointers. Every allocation,
//! every count of a reference and every check is a statement.
//!
//! Memory: a block carries a reference count; a variable that owns a block gives its reference away at its last use. An array whose
//! block has one reference may be written in place. Arguments of entry points have no block and are never written. When a run fails, no
//! statement cleans up: whoever made the call frees all memory of the run at once.

use chadwick_core::{Const, Prim, PrimOp};
use rustc_hash::FxHashSet;

/// Index of a local in [`Function::locals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Local(pub u32);

/// Index of a place in the program that can fail, in the table of sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SiteId(pub u32);

/// Index of a sum type in the table of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SumId(pub u32);

/// What an array holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Elem {
    Prim(Prim),
    Unit,
    Sum(SumId),
}

/// The type of a local, of a field, or of what a pointer points to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ty {
    Prim(Prim),
    /// A pointer to elements.
    Data(Elem),
    /// The block that owns elements, or null for what is not counted.
    Owner,
    /// A sum: a structure, or a pointer to one where the type is recursive.
    Sum(SumId),
    /// A row-major array as one value, in fields of sums and at the border.
    Array(Elem, usize),
    /// A pointer to a value of the type.
    Place(Box<Ty>),
    /// A pointer to a log.
    Log,
    /// The same without columns: it only gives out numbers, in any order.
    Counter,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Exp {
    Local(Local),
    Const(Const),
    Null,
    /// What all functions are given: the memory of the run.
    Context,
    Prim(PrimOp, Vec<Exp>),
    /// Arithmetic on sizes and offsets, in `i64`.
    Add(Box<Exp>, Box<Exp>),
    Sub(Box<Exp>, Box<Exp>),
    Mul(Box<Exp>, Box<Exp>),
    /// The larger of the value and zero.
    AtLeastZero(Box<Exp>),
    Test(Test, Box<Exp>, Box<Exp>),
    And(Box<Exp>, Box<Exp>),
    Or(Box<Exp>, Box<Exp>),
    Not(Box<Exp>),
    Select(Box<Exp>, Box<Exp>, Box<Exp>),
    /// The element at a position.
    Load(Box<Exp>, Box<Exp>),
    /// A pointer to the element at a position.
    At(Box<Exp>, Box<Exp>),
    /// What a pointer points to, or where something is.
    Deref(Box<Exp>),
    AddressOf(Box<Exp>),
    /// Of a sum: its constructor, and a field of the payload.
    Tag(Box<Exp>, SumId),
    Payload {
        sum: Box<Exp>,
        id: SumId,
        tag: u32,
        field: usize,
    },
    /// Parts of an array that is one value.
    Part(Box<Exp>, Part),
    /// An array as one value, of its parts.
    Array {
        elem: Elem,
        data: Box<Exp>,
        owner: Box<Exp>,
        dims: Vec<Exp>,
    },
    /// A function of the runtime header.
    Runtime(&'static str, Vec<Exp>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Data,
    Owner,
    Dim(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    Equal,
    NotEqual,
    Less,
    /// As unsigned numbers: `i` is no index into `n` elements.
    Outside,
}

/// What is known about the iterations of a loop.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    Sequential,
    /// No iteration reads what another one writes.
    Independent,
    /// Independent but for these accumulators, whose operation is associative and commutative.
    Reduction(Vec<(Combine, Local)>),
    /// Independent but for this one, which is assigned once, and read behind that as what it is so far: a scan.
    Prefixes(Combine, Local),
    /// Around one loop that must run in order, or is best so, but as often in every iteration: several iterations go side by side.
    Lanes(Lanes),
}

/// Iterations side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Lanes {
    /// What stands behind the inner loop: all at once but for these accumulators, or, where that is all it is, one after the other.
    pub behind: Behind,
    /// Whether inner loops do nothing but sum or add what lies side by side, in a few operations: then a group of more iterations fills the machine.
    pub sums: bool,
    pub site: SiteId,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Behind {
    AtOnce(Vec<(Combine, Local)>),
    InOrder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    Add,
    Multiply,
    And,
    Or,
    Xor,
    Minimum,
    Maximum,
}

impl Combine {
    /// What changes nothing. Minus zero changes no sum.
    pub fn neutral(self, prim: Prim) -> Const {
        match (self, prim) {
            (Combine::Add, Prim::F64) => Const::F64(-0.0),
            (Combine::Add, Prim::F32) => Const::F32(-0.0),
            (Combine::Add | Combine::Or | Combine::Xor, prim) => Const::zero(prim),
            (Combine::Multiply, prim) => Const::one(prim),
            (Combine::And, prim) => Const::from_i128(prim, -1),
            (Combine::Minimum, prim) => Const::greatest(prim),
            (Combine::Maximum, prim) => Const::least(prim),
        }
    }
}

/// Whether totals of the type may be formed in another order.
pub(crate) fn may_reorder(prim: Prim, strict: bool) -> bool {
    prim != Prim::F16 && !(strict && prim.is_float())
}

#[derive(Clone, Debug, PartialEq)]
pub enum Stm {
    Let(Local, Exp),
    /// A local that is assigned later; starts as zeros.
    Declare(Local),
    Assign(Local, Exp),
    Store {
        data: Exp,
        at: Exp,
        value: Exp,
    },
    /// Fills memory with constants.
    Table {
        data: Exp,
        values: Vec<Const>,
    },
    /// Writes to a place given as an expression.
    Put {
        place: Exp,
        value: Exp,
    },
    For {
        index: Local,
        bound: Exp,
        body: Vec<Stm>,
        mark: Mark,
        /// Present if iterations do not depend on one another but for these totals and for accumulators.
        independent: Option<Vec<(Combine, Local)>>,
    },
    /// A loop in chunks, for any number of threads.
    Parallel(Box<Parallel>),
    /// A loop that runs in order, of which threads may run all steps together.
    Steps(Box<Steps>),
    /// Two blocks that do not depend on one another.
    Fork(Box<Fork>),
    /// Runs until a [`Stm::BreakUnless`].
    Forever(Vec<Stm>),
    BreakUnless(Exp),
    If {
        condition: Exp,
        then: Vec<Stm>,
        otherwise: Vec<Stm>,
    },
    Switch {
        tag: Exp,
        cases: Vec<(u32, Vec<Stm>)>,
        otherwise: Vec<Stm>,
    },
    Call {
        function: usize,
        args: Vec<Exp>,
        results: Vec<Local>,
        site: SiteId,
    },
    /// A block for elements, and the pointer to the first one.
    Alloc {
        owner: Local,
        data: Local,
        elem: Elem,
        dims: Vec<Exp>,
        zeroed: bool,
        site: SiteId,
    },
    /// Room for a few elements in the frame of the function.
    Room {
        data: Local,
        elem: Elem,
        count: i64,
    },
    /// Makes room for one more row of so many elements behind `count` rows.
    Grow {
        owner: Local,
        data: Local,
        elem: Elem,
        count: Exp,
        row: Exp,
        site: SiteId,
    },
    /// An empty log.
    OpenLog {
        log: Local,
        columns: usize,
        start: Exp,
    },
    /// One more row of a log, and its number.
    Append {
        log: Exp,
        row: Local,
        values: Vec<(Elem, Exp)>,
        site: SiteId,
    },
    /// The columns of a log as blocks, and how many rows they have.
    CloseLog {
        log: Local,
        count: Local,
        columns: Vec<LogColumn>,
    },
    /// A new value of a recursive sum.
    AllocNode {
        node: Local,
        sum: SumId,
        site: SiteId,
    },
    Retain(Exp, Counted),
    Release(Exp, Counted),
    /// A function of the runtime header without a result.
    Run(&'static str, Vec<Exp>),
    /// A function made for a sum type that may fail.
    TrySum(SumFunction, SumId, Vec<Exp>, SiteId),
    /// A function made for the elements of an array.
    CopyElements {
        elem: Elem,
        to: Exp,
        from: Exp,
        count: Exp,
    },
    /// Fails if the condition holds.
    Fail {
        condition: Exp,
        kind: FailKind,
        values: Vec<Exp>,
        site: SiteId,
    },
    /// Appends a value to the stream of values for the host.
    Write(Exp, Ty),
    /// Gives the written values to the host.
    Trace(SiteId),
    /// Looks at the clock now and then.
    Tick(SiteId),
    Comment(String),
}

/// Where a column of a log goes when it is closed.
#[derive(Clone, Debug, PartialEq)]
pub struct LogColumn {
    pub owner: Local,
    pub data: Local,
    pub elem: Elem,
}

/// A loop whose chunks may run at the same time. Every chunk has totals and accumulators of its own, which are put together in the
/// order of the chunks.
#[derive(Clone, Debug, PartialEq)]
pub struct Parallel {
    pub index: Local,
    pub bound: Exp,
    pub body: Vec<Stm>,
    pub mark: Mark,
    /// What the body reads of its surroundings.
    pub captured: Vec<Local>,
    pub totals: Vec<(Combine, Local)>,
    pub accumulators: Vec<Accumulator>,
    /// About how many operations an iteration takes.
    pub work: Exp,
    /// Whether the loop may be short and run often: then it is also there without chunks.
    pub often: bool,
    /// Whether threads that stay together may run it: then smaller chunks are worth it.
    pub in_step: bool,
    /// Whether it takes a fraction of the time that its work tells.
    pub in_vectors: bool,
    pub site: SiteId,
}

/// A loop whose steps are loops in chunks, and between them what every thread can do for itself: then threads that run its chunks need not be told of
/// each loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    pub index: Local,
    pub bound: Exp,
    pub body: Vec<Stm>,
    /// What the body reads and sets of its surroundings.
    pub connections: Connections,
}

/// Two blocks that set different locals.
#[derive(Clone, Debug, PartialEq)]
pub struct Fork {
    pub left: Vec<Stm>,
    pub right: Vec<Stm>,
    /// Present if the blocks may run at the same time.
    pub connections: Option<[Connections; 2]>,
}

/// What connects a block with what is around it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Connections {
    /// What it reads of its surroundings.
    pub captured: Vec<Local>,
    /// What it sets there.
    pub assigned: Vec<Local>,
}

/// An array that is only added to, and never read while it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Accumulator {
    pub data: Local,
    pub elem: Elem,
    pub count: Exp,
}

/// What has references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Block(Elem),
    Sum(SumId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumFunction {
    /// `(place, value)`: adds the value to what is there.
    AddTo,
    /// `(place)`: makes what is there writable.
    MakeUnique,
}

/// Why a run fails; the numbers are known to the runtime crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum FailKind {
    /// index, size
    Index = 1,
    /// count, start, stride, size
    Slice = 2,
    /// found shape, then the shape of the other elements
    Irregular = 3,
    /// found shape and stated shape, where no element is known yet
    IrregularFirst = 4,
    /// old shape, new shape; the rank of the old one first
    Reshape = 5,
    /// two shapes
    Concat = 6,
    /// found shape, shape of the part
    Write = 7,
    /// two shapes
    AddShapes = 8,
    /// shape of the operator's result, shape of the neutral element
    Operator = 9,
    DivisionByZero = 10,
    NegativeExponent = 11,
    Assertion = 12,
    Memory = 13,
    Deadline = 14,
    Depth = 15,
    /// An accumulation into another constructor.
    OtherConstructor = 16,
    /// A sum of values of different constructors.
    AddConstructors = 17,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LocalInfo {
    pub name: String,
    pub ty: Ty,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub name: String,
    pub locals: Vec<LocalInfo>,
    pub params: Vec<Local>,
    /// Types of the results, each behind a pointer parameter.
    pub results: Vec<Ty>,
    pub body: Vec<Stm>,
    /// What is returned, in order of `results`.
    pub returned: Vec<Exp>,
    /// Scalars that are read at entry and written back at exit: accumulators of the caller. Pairs of the parameter and its local.
    pub written_back: Vec<(Local, Local)>,
    /// Whether a call may lead back here.
    pub recursive: bool,
    /// Arrays and scalars that are only added to where the function names them.
    pub accumulators: Vec<Accumulator>,
    pub sums: FxHashSet<Local>,
    /// Sums of sizes, counters and small numbers, which cannot overflow.
    pub exact: FxHashSet<Local>,
    /// Pointers to rows that are made in their places: nothing else knows of these until they are complete.
    pub rows: FxHashSet<Local>,
    pub site: SiteId,
    /// Comment in front: where it comes from.
    pub comment: String,
}

impl Stm {
    /// Whether a straight statement reads or changes a local.
    pub fn names(&self, local: Local) -> bool {
        let mut found = false;
        let mut visit = |exp: &Exp| exp.for_each_local(&mut |it| found |= it == local);
        match self {
            Stm::Let(_, exp) => visit(exp),
            Stm::Assign(changed, exp) => {
                visit(exp);
                found |= *changed == local;
            }
            Stm::Store { data, at, value } => [data, at, value].into_iter().for_each(visit),
            Stm::Put { place, value } => [place, value].into_iter().for_each(visit),
            Stm::If { condition, then, otherwise } => {
                visit(condition);
                found |= then.iter().chain(otherwise).any(|stm| stm.names(local));
            }
            _ => {}
        }
        found
    }
}

impl Ty {
    /// Whether several iterations can each have a value of the type side by side.
    pub fn has_lanes(&self) -> bool {
        matches!(self, Ty::Prim(prim) if *prim != Prim::F16)
    }
}

impl Exp {
    pub fn i64(value: i64) -> Exp {
        Exp::Const(Const::I64(value))
    }

    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Exp::Const(Const::I64(value)) => Some(*value),
            _ => None,
        }
    }

    #[expect(clippy::should_implement_trait, reason = "builds an expression, simplified")]
    pub fn add(self, other: Exp) -> Exp {
        match (self.as_i64(), other.as_i64()) {
            (Some(0), _) => other,
            (_, Some(0)) => self,
            (Some(a), Some(b)) => Exp::i64(a.wrapping_add(b)),
            _ => Exp::Add(Box::new(self), Box::new(other)),
        }
    }

    #[expect(clippy::should_implement_trait, reason = "builds an expression, simplified")]
    pub fn sub(self, other: Exp) -> Exp {
        match (self.as_i64(), other.as_i64()) {
            (_, Some(0)) => self,
            (Some(a), Some(b)) => Exp::i64(a.wrapping_sub(b)),
            _ => Exp::Sub(Box::new(self), Box::new(other)),
        }
    }

    #[expect(clippy::should_implement_trait, reason = "builds an expression, simplified")]
    pub fn mul(self, other: Exp) -> Exp {
        match (self.as_i64(), other.as_i64()) {
            (Some(0), _) | (_, Some(0)) => Exp::i64(0),
            (Some(1), _) => other,
            (_, Some(1)) => self,
            (Some(a), Some(b)) => Exp::i64(a.wrapping_mul(b)),
            _ => Exp::Mul(Box::new(self), Box::new(other)),
        }
    }

    pub fn at_least_zero(self) -> Exp {
        match self.as_i64() {
            Some(value) => Exp::i64(value.max(0)),
            None => Exp::AtLeastZero(Box::new(self)),
        }
    }

    pub fn test(test: Test, left: Exp, right: Exp) -> Exp {
        Exp::Test(test, Box::new(left), Box::new(right))
    }

    pub fn and(self, other: Exp) -> Exp {
        Exp::And(Box::new(self), Box::new(other))
    }

    pub fn or(self, other: Exp) -> Exp {
        Exp::Or(Box::new(self), Box::new(other))
    }

    pub fn load(data: Exp, at: Exp) -> Exp {
        Exp::Load(Box::new(data), Box::new(at))
    }

    pub fn at(data: Exp, at: Exp) -> Exp {
        match at.as_i64() {
            Some(0) => data,
            _ => Exp::At(Box::new(data), Box::new(at)),
        }
    }

    pub fn deref(self) -> Exp {
        match self {
            Exp::AddressOf(place) => *place,
            other => Exp::Deref(Box::new(other)),
        }
    }

    pub fn address(self) -> Exp {
        match self {
            Exp::Deref(pointer) => *pointer,
            Exp::Load(data, at) => Exp::at(*data, *at),
            other => Exp::AddressOf(Box::new(other)),
        }
    }

    pub fn part(self, part: Part) -> Exp {
        Exp::Part(Box::new(self), part)
    }

    /// Does something to every local inside.
    pub fn for_each_local(&self, visit: &mut dyn FnMut(Local)) {
        match self {
            Exp::Local(local) => visit(*local),
            other => other.for_each_child(&mut |child| child.for_each_local(visit)),
        }
    }

    /// Does something to every expression that this one is made of.
    pub fn for_each_child<'e>(&'e self, visit: &mut dyn FnMut(&'e Exp)) {
        match self {
            Exp::Local(_) | Exp::Const(_) | Exp::Null | Exp::Context => {}
            Exp::Prim(_, args) | Exp::Runtime(_, args) => args.iter().for_each(visit),
            Exp::Add(a, b)
            | Exp::Sub(a, b)
            | Exp::Mul(a, b)
            | Exp::Test(_, a, b)
            | Exp::And(a, b)
            | Exp::Or(a, b)
            | Exp::Load(a, b)
            | Exp::At(a, b) => [a, b].into_iter().for_each(|part| visit(part)),
            Exp::AtLeastZero(a) | Exp::Not(a) | Exp::Deref(a) | Exp::AddressOf(a) | Exp::Tag(a, _) | Exp::Part(a, _) => visit(a),
            Exp::Payload { sum, .. } => visit(sum),
            Exp::Select(a, b, c) => [a, b, c].into_iter().for_each(|part| visit(part)),
            Exp::Array { data, owner, dims, .. } => {
                [&**data, &**owner].into_iter().chain(dims).for_each(visit);
            }
        }
    }

    /// The expression with all its parts rewritten, from inside out.
    pub fn rewritten(mut self, rewrite: &dyn Fn(Exp) -> Exp) -> Exp {
        let change = |part: &mut Exp| *part = std::mem::replace(part, Exp::Null).rewritten(rewrite);
        match &mut self {
            Exp::Local(_) | Exp::Const(_) | Exp::Null | Exp::Context => {}
            Exp::Prim(_, args) | Exp::Runtime(_, args) => args.iter_mut().for_each(change),
            Exp::Add(a, b)
            | Exp::Sub(a, b)
            | Exp::Mul(a, b)
            | Exp::Test(_, a, b)
            | Exp::And(a, b)
            | Exp::Or(a, b)
            | Exp::Load(a, b)
            | Exp::At(a, b) => [a, b].into_iter().for_each(|part| change(part)),
            Exp::AtLeastZero(a) | Exp::Not(a) | Exp::Deref(a) | Exp::AddressOf(a) | Exp::Tag(a, _) | Exp::Part(a, _) => change(a),
            Exp::Payload { sum, .. } => change(sum),
            Exp::Select(a, b, c) => [a, b, c].into_iter().for_each(|part| change(part)),
            Exp::Array { data, owner, dims, .. } => {
                change(data);
                change(owner);
                dims.iter_mut().for_each(change);
            }
        }
        rewrite(self)
    }
}
