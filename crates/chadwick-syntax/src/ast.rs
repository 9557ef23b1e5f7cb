//! The syntax tree, as the parser makes it: nothing is resolved, nothing is desugared that a message might want to show.
//!
//! Every node carries its span. Operators appear as [`ExpKind::Binary`]; whether `x.y` is a field or a module member is decided by
//! scope later, so the parser leaves dotted names as one [`QualName`].

use chadwick_source::{Name, Span};

/// `a.b.c`: qualifiers and the last name. Operators are names too (`+`, `f64.*`).
#[derive(Clone, Debug, PartialEq)]
pub struct QualName {
    pub qualifiers: Vec<Ident>,
    pub name: Ident,
}

impl QualName {
    pub fn unqualified(name: Ident) -> Self {
        QualName { qualifiers: Vec::new(), name }
    }

    pub fn span(&self) -> Span {
        self.qualifiers.first().map_or(self.name.span, |first| first.span.to(self.name.span))
    }
}

impl std::fmt::Display for QualName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for qualifier in &self.qualifiers {
            write!(f, "{}.", qualifier.name)?;
        }
        write!(f, "{}", self.name.name)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Ident {
    pub name: Name,
    pub span: Span,
}

/// `#[name]`, `#[3]`, `#[name(a, b)]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    pub name: Name,
    pub arguments: Vec<Attribute>,
    pub span: Span,
}

// ---------------------------------------------------------------------------------------------------------------- declarations

#[derive(Clone, Debug, PartialEq, Default)]
pub struct Program {
    pub declarations: Vec<Declaration>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    pub attributes: Vec<Attribute>,
    /// The text of the `-- |` comment right before, without the comment marks.
    pub doc: Option<String>,
    pub kind: DeclarationKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DeclarationKind {
    Value(ValueBinding),
    /// `def rec f … and g …`.
    ValueGroup(Vec<ValueBinding>),
    Type(TypeBinding),
    /// `type rec t … and u …`.
    TypeGroup(Vec<TypeBinding>),
    Module(ModuleBinding),
    ModuleType(Ident, ModuleTypeExp),
    Open(ModuleExp),
    /// `import "path"`, which is `local open import "path"`.
    Import(String, Span),
    Local(Box<Declaration>),
    /// What could not be parsed; an error was reported.
    Error,
}

/// `def`, `entry`, top-level or local `let` of a function or value.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueBinding {
    pub is_entry: bool,
    /// The name, or the operator symbol.
    pub name: Ident,
    pub type_params: Vec<TypeParam>,
    pub params: Vec<Pattern>,
    pub result: Option<TypeExp>,
    pub body: Exp,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TypeParam {
    pub kind: TypeParamKind,
    pub name: Ident,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeParamKind {
    /// `[n]`
    Size,
    /// `'t`, `'~t`, `'^t`
    Type(Liftedness),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Liftedness {
    Unlifted,
    SizeLifted,
    Lifted,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TypeBinding {
    pub liftedness: Liftedness,
    pub name: Ident,
    pub params: Vec<TypeParam>,
    pub body: TypeExp,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ModuleBinding {
    pub name: Ident,
    pub params: Vec<ModuleParam>,
    pub signature: Option<ModuleTypeExp>,
    pub body: ModuleExp,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ModuleParam {
    pub name: Ident,
    pub signature: ModuleTypeExp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ModuleExp {
    pub kind: ModuleExpKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ModuleExpKind {
    Name(QualName),
    Import(String),
    Ascribe(Box<ModuleExp>, Box<ModuleTypeExp>),
    Lambda { param: Box<ModuleParam>, signature: Option<Box<ModuleTypeExp>>, body: Box<ModuleExp> },
    Apply(Box<ModuleExp>, Box<ModuleExp>),
    Declarations(Vec<Declaration>),
    Error,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ModuleTypeExp {
    pub kind: ModuleTypeExpKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ModuleTypeExpKind {
    Name(QualName),
    Specs(Vec<Spec>),
    /// `mt with t 'a = ty`
    With {
        base: Box<ModuleTypeExp>,
        name: QualName,
        params: Vec<TypeParam>,
        body: TypeExp,
    },
    /// `(p: mt) -> mt`, or without a name.
    Arrow {
        param: Option<Ident>,
        from: Box<ModuleTypeExp>,
        to: Box<ModuleTypeExp>,
    },
    Error,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    pub attributes: Vec<Attribute>,
    pub doc: Option<String>,
    pub kind: SpecKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SpecKind {
    Value { name: Ident, params: Vec<TypeParam>, ty: TypeExp },
    Type { liftedness: Liftedness, name: Ident, params: Vec<TypeParam>, body: Option<TypeExp> },
    Module(Ident, ModuleTypeExp),
    Include(ModuleTypeExp),
}

// ----------------------------------------------------------------------------------------------------------------------- types

#[derive(Clone, Debug, PartialEq)]
pub struct TypeExp {
    pub kind: TypeExpKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TypeExpKind {
    /// `name arg …`; a plain name has no arguments.
    Apply(QualName, Vec<TypeArg>),
    Tuple(Vec<TypeExp>),
    Record(Vec<(Ident, TypeExp)>),
    /// `[n]t`; `None` is `[]t`.
    Array(SizeExp, Box<TypeExp>),
    /// `*t`
    Unique(Box<TypeExp>),
    /// `a -> b`, `(x: a) -> b`
    Arrow {
        param: Option<Ident>,
        from: Box<TypeExp>,
        to: Box<TypeExp>,
    },
    /// `#a t u | #b`
    Sum(Vec<(Ident, Vec<TypeExp>)>),
    /// `?[n][m].t`
    Exists(Vec<Ident>, Box<TypeExp>),
    Error,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TypeArg {
    Size(SizeExp),
    Type(TypeExp),
}

/// What stands between the brackets of an array type.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeExp {
    /// `None`: `[]`.
    pub exp: Option<Box<Exp>>,
    pub span: Span,
}

// -------------------------------------------------------------------------------------------------------------------- patterns

#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    pub kind: PatternKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum PatternKind {
    Name(Name),
    Wildcard,
    Literal(Literal),
    /// `-1`
    NegativeLiteral(Literal),
    Tuple(Vec<Pattern>),
    /// `{a = p, b}`; a pun has no pattern.
    Record(Vec<(Ident, Option<Pattern>)>),
    Constructor(Ident, Vec<Pattern>),
    Ascribe(Box<Pattern>, Box<TypeExp>),
    Attributed(Attribute, Box<Pattern>),
    Error,
}

// ----------------------------------------------------------------------------------------------------------------- expressions

#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Bool(bool),
    /// The value of an integer literal (at most `u64::MAX`, or larger and then out of range of every type) and its suffix.
    Int(u128, Option<Name>),
    Float(FloatLiteral),
    Char(char),
    String(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct FloatLiteral {
    /// Digits as `f64::from_str` takes them (underscores removed), or, for hex floats, the exact value printed in decimal.
    pub text: String,
    pub value: f64,
    pub suffix: Option<Name>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Exp {
    pub kind: ExpKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExpKind {
    Literal(Literal),
    /// A name, possibly dotted: variable, module member, or variable followed by fields.
    Name(QualName),
    /// `(+)`, `(f64.+)`; also `` (`f`) ``.
    Operator(QualName),
    /// `()` is the empty tuple; there are no one-element tuples.
    Tuple(Vec<Exp>),
    /// Parentheses are kept: they limit attributes and matter to the printer.
    Paren(Box<Exp>),
    /// `{x, y = e}`; a pun has no expression.
    Record(Vec<(Ident, Option<Exp>)>),
    Array(Vec<Exp>),
    /// `f a b`: one node for the whole spine.
    Apply(Box<Exp>, Vec<Exp>),
    /// `#c a b`
    Constructor(Ident, Vec<Exp>),
    /// `a + b`, `` a `f` b ``; also `&&`, `||`, `|>`.
    Binary(Box<Exp>, QualName, Box<Exp>),
    /// `-x`, `!x`
    Unary(UnaryOperator, Box<Exp>),
    /// `(e op)`
    LeftSection(Box<Exp>, QualName),
    /// `(op e)`
    RightSection(QualName, Box<Exp>),
    /// `(.a.b)`, `(.[i, j])`, `(.a[i])`
    ProjectSection(Vec<Access>),
    /// `e.field`, where `e` is not a name.
    Project(Box<Exp>, Ident),
    /// `e[i, j:k]`
    Index(Box<Exp>, Vec<IndexPart>),
    /// `m.(e)`
    OpenIn(QualName, Box<Exp>),
    Let(Box<LetExp>),
    If(Box<Exp>, Box<Exp>, Box<Exp>),
    Loop(Box<LoopExp>),
    Match(Box<Exp>, Vec<(Pattern, Exp)>),
    Lambda {
        params: Vec<Pattern>,
        result: Option<TypeExp>,
        body: Box<Exp>,
    },
    Assert(Box<Exp>, Box<Exp>),
    /// `e : t`
    Ascribe(Box<Exp>, TypeExp),
    /// `e :> t`
    Coerce(Box<Exp>, TypeExp),
    Range {
        first: Box<Exp>,
        second: Option<Box<Exp>>,
        end: RangeEnd,
        last: Box<Exp>,
    },
    /// `e with path = value`
    Update {
        target: Box<Exp>,
        path: Vec<Access>,
        value: Box<Exp>,
    },
    Attributed(Attribute, Box<Exp>),
    /// `???`
    Hole,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOperator {
    Negate,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeEnd {
    /// `...`
    Inclusive,
    /// `..<`
    UpTo,
    /// `..>`
    DownTo,
}

/// One step of an update path or a projection section.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    Field(Ident),
    Index(Vec<IndexPart>, Span),
}

#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "indices are few, and a slice without boxes is easier to match")]
pub enum IndexPart {
    Index(Exp),
    /// `i:j:s`, each part optional.
    Slice {
        start: Option<Exp>,
        end: Option<Exp>,
        stride: Option<Exp>,
        span: Span,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct LetExp {
    pub binding: LetBinding,
    pub body: Exp,
}

#[derive(Clone, Debug, PartialEq)]
pub enum LetBinding {
    /// `let [n] pat = e`
    Pattern { sizes: Vec<Ident>, pattern: Pattern, value: Exp },
    /// `let f x = e`
    Function(ValueBinding),
    /// `let rec f … and g …`
    Group(Vec<ValueBinding>),
    /// `let a[i].x = e`
    Update { name: Ident, path: Vec<Access>, value: Exp },
}

#[derive(Clone, Debug, PartialEq)]
pub struct LoopExp {
    pub sizes: Vec<Ident>,
    pub pattern: Pattern,
    /// `None`: every name in the pattern starts from the variable of that name.
    pub initial: Option<Exp>,
    pub form: LoopForm,
    pub body: Exp,
}

#[derive(Clone, Debug, PartialEq)]
pub enum LoopForm {
    /// `for i < n`
    For(Ident, Exp),
    /// `for p in a`
    ForIn(Pattern, Exp),
    While(Exp),
}
