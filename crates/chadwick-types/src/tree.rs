//! The typed tree: what the checker makes of a program and lowering takes.
//!
//! Modules are gone (every application of a parametric module has become definitions of its own), names are resolved to
//! [`VarId`]s, operators are applications, and every use of a polymorphic definition states its types and sizes.

use crate::ty::{ParamId, Scheme, Size, Type, VarId};
use chadwick_source::{Name, Span};
use chadwick_syntax::ast::{Attribute, RangeEnd};
use std::rc::Rc;

/// A checked program.
#[derive(Debug, Default)]
pub struct Program {
    /// In order of definition: each refers to earlier ones, or to its own group.
    pub definitions: Vec<Rc<Definition>>,
    pub entries: Vec<VarId>,
    pub named_types: Vec<NamedType>,
    /// Names of all variables, for people.
    pub var_names: Vec<Name>,
}

#[derive(Debug, Clone)]
pub struct NamedType {
    pub name: Name,
    pub params: Vec<NamedParam>,
    pub body: NamedBody,
}

#[derive(Debug, Clone)]
pub enum NamedParam {
    Type(ParamId),
    Size(VarId),
}

#[derive(Debug, Clone)]
pub enum NamedBody {
    /// A recursive sum.
    Recursive(Vec<(Name, Vec<Type>)>),
    /// A hidden name for another type.
    Abstract(Type),
    /// The parameter of a parametric module, while its body is checked once for all.
    Opaque,
}

#[derive(Debug, Clone)]
pub struct Definition {
    pub id: VarId,
    pub name: Name,
    pub scheme: Scheme,
    pub body: DefinitionBody,
    pub attributes: Vec<Attribute>,
    pub doc: Option<String>,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum DefinitionBody {
    Function(Function),
    /// Known to lowering by this name.
    Intrinsic(Name),
}

/// Parameters and a body; a value has no parameters.
#[derive(Debug, Clone)]
pub struct Function {
    pub params: Vec<Pattern>,
    pub body: Exp,
}

#[derive(Debug, Clone)]
pub struct Exp {
    pub kind: ExpKind,
    pub ty: Type,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub enum ExpKind {
    Bool(bool),
    /// A number whose type is the node's.
    Int(i128),
    Float(f64),
    /// A `[n]u8`.
    String(Rc<[u8]>),
    /// A variable at the given types and sizes.
    Var {
        id: VarId,
        types: Vec<Type>,
        sizes: Vec<Size>,
    },
    /// Fields in order of evaluation.
    Record(Vec<(Name, Exp)>),
    Project(Box<Exp>, Name),
    Array(Vec<Exp>),
    Construct(Name, Vec<Exp>),
    /// The checks come after the arguments and before the call.
    Apply {
        function: Box<Exp>,
        args: Vec<Exp>,
        checks: CheckSet,
    },
    Lambda(Rc<Lambda>),
    Let {
        pattern: Pattern,
        value: Box<Exp>,
        body: Box<Exp>,
    },
    LetFunctions {
        functions: Vec<Rc<Definition>>,
        recursive: bool,
        body: Box<Exp>,
    },
    If(Box<Exp>, Box<Exp>, Box<Exp>),
    And(Box<Exp>, Box<Exp>),
    Or(Box<Exp>, Box<Exp>),
    Match(Box<Exp>, Vec<(Pattern, Exp)>),
    Loop(Box<Loop>),
    Index(Box<Exp>, Vec<Index>),
    /// What an update takes out of its target to change it and put it back: nobody else has it.
    Taken(Box<Exp>),
    /// `target with [index] = value`
    Update(Box<Exp>, Vec<Index>, Box<Exp>),
    /// `target with field = value`
    RecordUpdate(Box<Exp>, Name, Box<Exp>),
    Range {
        first: Box<Exp>,
        second: Option<Box<Exp>>,
        end: RangeEnd,
        last: Box<Exp>,
    },
    Assert {
        condition: Box<Exp>,
        body: Box<Exp>,
        text: String,
    },
    /// The value of the expression, which the variable names from here to the end of the block.
    Bind(VarId, Box<Exp>),
    /// The value of the expression; each variable is the size that stands for it in the expression's type.
    Open(Vec<(VarId, Name)>, Box<Exp>),
    /// The value of the expression, after which the sizes must agree.
    Checked(CheckSet, Box<Exp>),
    /// Each variable is bound to its size, then the expression.
    LetSizes(Vec<(VarId, Name, Size)>, Box<Exp>),
    Attributed(Attribute, Box<Exp>),
    Hole,
    Error,
}

#[derive(Debug, Clone)]
pub struct Lambda {
    pub params: Vec<Pattern>,
    pub body: Exp,
}

/// Size equalities that only a run can decide.
#[derive(Debug, Clone, Default)]
pub struct CheckSet {
    /// While the enclosing definition is being inferred: where the checks are collected.
    pub(crate) pending: Option<u32>,
    pub checks: Vec<SizeCheck>,
}

#[derive(Debug, Clone)]
pub struct SizeCheck {
    pub expected: Size,
    pub actual: Size,
    pub span: Span,
    /// What a function type binds and a size depends on, if anything: where only the function is there, nothing can be checked.
    pub param: Option<(VarId, Name)>,
}

#[derive(Debug, Clone)]
pub struct Pattern {
    pub kind: PatternKind,
    pub ty: Type,
    pub span: Span,
}

impl Pattern {
    /// The type with what the parts of a record state about theirs.
    pub fn whole_type(&self) -> Type {
        match &self.kind {
            PatternKind::Record(fields) => Type::record(fields.iter().map(|(name, part)| (name.clone(), part.whole_type()))),
            _ => self.ty.clone(),
        }
    }
}

#[derive(Debug, Clone)]
pub enum PatternKind {
    Wildcard,
    Var(VarId, Name),
    Bool(bool),
    Int(i128),
    Float(f64),
    Record(Vec<(Name, Pattern)>),
    Constructor(Name, Vec<Pattern>),
}

#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "there are few of them, and each is looked at once")]
pub enum Index {
    At(Exp),
    Slice { start: Option<Exp>, end: Option<Exp>, stride: Option<Exp> },
}

#[derive(Debug, Clone)]
pub struct Loop {
    pub pattern: Pattern,
    pub initial: Exp,
    /// The type of what goes from one iteration to the next.
    pub carried: Type,
    /// Its sizes that change from iteration to iteration; read from the carried value.
    pub varying: Vec<(VarId, Name)>,
    pub form: LoopForm,
    pub body: Exp,
    /// Whether a `*` stands in the pattern: the loop takes its initial value whole.
    pub consumes: bool,
    /// Attributes of the pattern, such as `true_dep`.
    pub attributes: Vec<Attribute>,
}

#[derive(Debug, Clone)]
pub enum LoopForm {
    For(VarId, Name, Exp),
    ForIn(Pattern, Exp),
    While(Exp),
}
