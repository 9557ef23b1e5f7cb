//! The categorical language (Ellis et al., section 6): programs without variables, as arrows from the tuple of what is in scope.
//!
//! A block becomes an arrow ([`Categorical::arrow`], the paper's `C⟦e⟧Γ`), and an arrow applied to a tuple is a block again
//! ([`Categorical::apply`], the paper's `t ⋄ c`). Before each conversion the scope may be pruned to what the term uses.

use crate::context::Context;
use chadwick_core::visit::free_variables;
use chadwick_core::{Atom, Axis, Block, Const, Op, Size, Statement, Type, Var};
use chadwick_source::Span;
use std::fmt;

/// An arrow from a tuple to a tuple.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Arrow {
    /// `I`
    Identity,
    /// `K(k)`
    Constant(Const),
    /// `P[i1, …, im/n]`
    Prune(Vec<usize>, usize),
    /// `F(f)`: an operation without blocks, whose operands are the tuple.
    Apply(Box<Op>),
    /// `c1; c2`
    Compose(Box<Arrow>, Box<Arrow>),
    /// `(c1, …, cn)`
    Tuple(Vec<Arrow>),
    /// `IF(c1, c2, c3)`
    If(Box<[Arrow; 3]>),
    /// `L(x, cr, cb)`: what the first gives is put behind the tuple for the second.
    Let(Box<Arrow>, Box<Arrow>),
    /// `B(cs, i, ce)`, with the sizes of elements that are arrays.
    Build { sizes: Vec<Arrow>, inner: Vec<Vec<Option<Arrow>>>, body: Box<Arrow> },
    /// `sum` of such.
    Sum { sizes: Vec<Arrow>, body: Box<Arrow>, op: Box<Op> },
}

pub(super) struct Categorical<'c, 'p> {
    pub context: &'c mut Context<'p>,
    /// Whether scopes are pruned to what is used.
    pub prune: bool,
}

impl Categorical<'_, '_> {
    /// `C⟦block⟧Γ`
    pub fn arrow(&mut self, block: &Block, scope: &[Var]) -> Option<Arrow> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.pruned(block, scope))
    }

    fn pruned(&mut self, block: &Block, scope: &[Var]) -> Option<Arrow> {
        let used = free_variables(block);
        let kept: Vec<usize> = (0..scope.len()).filter(|at| used.contains(&scope[*at])).collect();
        if !self.prune || kept.len() == scope.len() {
            return self.block(block, scope);
        }
        let inner: Vec<Var> = kept.iter().map(|at| scope[*at]).collect();
        let arrow = self.block(block, &inner)?;
        Some(Arrow::Compose(Box::new(Arrow::Prune(kept, scope.len())), Box::new(arrow)))
    }

    fn block(&mut self, block: &Block, scope: &[Var]) -> Option<Arrow> {
        let Some((first, rest)) = block.statements.split_first() else {
            return Some(self.tuple(&block.results, scope));
        };
        let bound = self.statement(first, scope)?;
        let mut inner = scope.to_vec();
        inner.extend(first.binders.iter().map(|binder| binder.var));
        let rest = Block { statements: rest.to_vec(), results: block.results.clone() };
        Some(Arrow::Let(Box::new(bound), Box::new(self.arrow(&rest, &inner)?)))
    }

    fn tuple(&self, atoms: &[Atom], scope: &[Var]) -> Arrow {
        let all: Option<Vec<usize>> = atoms.iter().map(|atom| position(atom, scope)).collect();
        match all {
            // Only the last of equal variables counts; in Core there is one.
            Some(at) if at.len() == scope.len() && at.iter().enumerate().all(|(k, at)| k == *at) => Arrow::Identity,
            Some(at) => Arrow::Prune(at, scope.len()),
            None => Arrow::Tuple(atoms.iter().map(|atom| atom_arrow(atom, scope)).collect()),
        }
    }

    fn statement(&mut self, statement: &Statement, scope: &[Var]) -> Option<Arrow> {
        match &statement.op {
            Op::Copy(atoms) => Some(self.tuple(atoms, scope)),
            Op::If { condition, then, otherwise } => {
                let parts = [atom_arrow(condition, scope), self.arrow(then, scope)?, self.arrow(otherwise, scope)?];
                Some(Arrow::If(Box::new(parts)))
            }
            Op::Build { space, body, inner } => {
                let (sizes, body) = self.family(space, body, scope)?;
                let size = |size: &Size| match size {
                    Size::Known(atom) => Some(atom_arrow(atom, scope)),
                    Size::FromValue => None,
                };
                let inner = inner.iter().map(|sizes| sizes.iter().map(size).collect()).collect();
                Some(Arrow::Build { sizes, inner, body })
            }
            Op::Reduce { space, op, body, neutral, .. } if op.is_addition() && neutral.iter().all(is_constant) => {
                let (sizes, body) = self.family(space, body, scope)?;
                Some(Arrow::Sum { sizes, body, op: Box::new(statement.op.clone()) })
            }
            op if op.scopes().is_empty() => {
                let mut operands = Vec::new();
                op.for_each_atom(&mut |atom| operands.push(atom.clone()));
                let arrow = Arrow::Apply(Box::new(op.clone()));
                Some(Arrow::Compose(Box::new(self.tuple(&operands, scope)), Box::new(arrow)))
            }
            _ => {
                let message = "the categorical language has no such form";
                self.context.errors.push(chadwick_source::Diagnostic::error("E0410", statement.span, message));
                None
            }
        }
    }

    fn family(&mut self, space: &[Axis], body: &Block, scope: &[Var]) -> Option<(Vec<Arrow>, Box<Arrow>)> {
        let sizes = space.iter().map(|axis| atom_arrow(&axis.size, scope)).collect();
        let mut inner = scope.to_vec();
        inner.extend(space.iter().map(|axis| axis.var));
        Some((sizes, Box::new(self.arrow(body, &inner)?)))
    }

    /// `t ⋄ c`: emits the arrow at a tuple.
    pub fn apply(&mut self, arrow: &Arrow, tuple: &[Atom], span: Span) -> Vec<Atom> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match arrow {
            Arrow::Identity => tuple.to_vec(),
            Arrow::Constant(constant) => vec![Atom::Const(*constant)],
            Arrow::Prune(kept, _) => kept.iter().filter_map(|at| tuple.get(*at).cloned()).collect(),
            Arrow::Apply(op) => {
                let mut op = (**op).clone();
                let mut operands = tuple.iter();
                op.for_each_atom_mut(&mut |atom| {
                    if let Some(operand) = operands.next() {
                        *atom = operand.clone();
                    }
                });
                self.context.emit(op, span)
            }
            Arrow::Compose(first, second) => {
                let between = self.apply(first, tuple, span);
                self.apply(second, &between, span)
            }
            Arrow::Tuple(parts) => parts.iter().flat_map(|part| self.apply(part, tuple, span)).collect(),
            Arrow::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                let condition = self.single(condition, tuple, span);
                let [then, otherwise] = [then, otherwise].map(|branch| self.block_of(branch, tuple, span));
                self.context.emit(Op::If { condition, then, otherwise }, span)
            }
            Arrow::Let(bound, body) => {
                let bound = self.apply(bound, tuple, span);
                self.apply(body, &[tuple.to_vec(), bound].concat(), span)
            }
            Arrow::Build { sizes, inner, body } => {
                let size = |this: &mut Self, size: &Option<Arrow>| match size {
                    Some(arrow) => Size::Known(this.single(arrow, tuple, span)),
                    None => Size::FromValue,
                };
                let inner: Vec<Vec<Size>> = inner.iter().map(|sizes| sizes.iter().map(|one| size(self, one)).collect()).collect();
                let (space, body) = self.space(sizes, body, tuple, span);
                self.context.emit(Op::Build { space, body, inner }, span)
            }
            Arrow::Sum { sizes, body, op } => {
                let (space, body) = self.space(sizes, body, tuple, span);
                let Op::Reduce { op, neutral, commutative, .. } = &**op else { return Vec::new() };
                let op = self.context.copy_lambda(op);
                let (neutral, commutative) = (neutral.clone(), *commutative);
                self.context.emit(Op::Reduce { space, op, neutral, body, commutative }, span)
            }
        })
    }

    fn single(&mut self, arrow: &Arrow, tuple: &[Atom], span: Span) -> Atom {
        self.apply(arrow, tuple, span).into_iter().next().unwrap_or(Atom::i64(0))
    }

    fn block_of(&mut self, arrow: &Arrow, tuple: &[Atom], span: Span) -> Block {
        self.context.b.push_block();
        let results = self.apply(arrow, tuple, span);
        self.context.b.pop_block(results)
    }

    fn space(&mut self, sizes: &[Arrow], body: &Arrow, tuple: &[Atom], span: Span) -> (Vec<Axis>, Block) {
        let sizes: Vec<Atom> = sizes.iter().map(|size| self.single(size, tuple, span)).collect();
        let space: Vec<Axis> = sizes.into_iter().map(|size| Axis { var: self.context.fresh("i", Type::I64).var, size }).collect();
        let indices: Vec<Atom> = space.iter().map(|axis| Atom::Var(axis.var)).collect();
        let body = self.block_of(body, &[tuple.to_vec(), indices].concat(), span);
        (space, body)
    }

    /// The types of what an arrow gives from a tuple of these types; an error if it does not fit.
    pub fn target(&mut self, arrow: &Arrow, source: &[Type]) -> Result<Vec<Type>, String> {
        Ok(match arrow {
            Arrow::Identity => source.to_vec(),
            Arrow::Constant(constant) => vec![Type::Prim(constant.prim())],
            Arrow::Prune(kept, count) => {
                if *count != source.len() {
                    return Err(format!("{arrow} is given {} values", source.len()));
                }
                let one = |at: &usize| source.get(*at).cloned().ok_or_else(|| format!("{arrow} has no part {at}"));
                kept.iter().map(one).collect::<Result<Vec<Type>, String>>()?
            }
            Arrow::Apply(op) => {
                let mut op = (**op).clone();
                let operands: Vec<Atom> = source.iter().map(|ty| Atom::Var(self.context.fresh("", ty.clone()).var)).collect();
                let mut given = operands.into_iter();
                op.for_each_atom_mut(&mut |atom| {
                    if let Some(operand) = given.next() {
                        *atom = operand;
                    }
                });
                self.context.b.result_types(&op).map_err(|problem| problem.to_string())?
            }
            Arrow::Compose(first, second) => {
                let between = self.target(first, source)?;
                self.target(second, &between)?
            }
            Arrow::Tuple(parts) => {
                let mut types = Vec::new();
                for part in parts {
                    types.extend(self.target(part, source)?);
                }
                types
            }
            Arrow::If(parts) => {
                let [condition, then, otherwise] = &**parts;
                if self.target(condition, source)? != [Type::BOOL] {
                    return Err(String::from("a condition that is no truth value"));
                }
                let (then, otherwise) = (self.target(then, source)?, self.target(otherwise, source)?);
                if !chadwick_core::all_compatible(&then, &otherwise) {
                    return Err(String::from("branches of different types"));
                }
                then.iter().zip(&otherwise).map(|(then, otherwise)| chadwick_core::typing::join(then, otherwise)).collect()
            }
            Arrow::Let(bound, body) => {
                let bound = self.target(bound, source)?;
                self.target(body, &[source.to_vec(), bound].concat())?
            }
            Arrow::Build { sizes, body, .. } => {
                let elements = self.elements(sizes, body, source)?;
                elements.into_iter().map(|ty| ty.any_sizes().array(vec![chadwick_core::Dim::Any; sizes.len()])).collect()
            }
            Arrow::Sum { sizes, body, .. } => self.elements(sizes, body, source)?,
        })
    }

    fn elements(&mut self, sizes: &[Arrow], body: &Arrow, source: &[Type]) -> Result<Vec<Type>, String> {
        for size in sizes {
            if self.target(size, source)? != [Type::I64] {
                return Err(String::from("a size that is no integer"));
            }
        }
        self.target(body, &[source.to_vec(), vec![Type::I64; sizes.len()]].concat())
    }
}

fn is_constant(atom: &Atom) -> bool {
    matches!(atom, Atom::Const(_))
}

fn position(atom: &Atom, scope: &[Var]) -> Option<usize> {
    match atom {
        Atom::Var(var) => scope.iter().position(|known| known == var),
        Atom::Const(_) => None,
    }
}

fn atom_arrow(atom: &Atom, scope: &[Var]) -> Arrow {
    match (atom, position(atom, scope)) {
        (Atom::Const(constant), _) => Arrow::Constant(*constant),
        (_, Some(at)) => Arrow::Prune(vec![at], scope.len()),
        (_, None) => Arrow::Tuple(Vec::new()),
    }
}

impl fmt::Display for Arrow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |arrows: &[Arrow]| arrows.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Arrow::Identity => write!(f, "I"),
            Arrow::Constant(constant) => write!(f, "K({})", super::printing::number(constant)),
            Arrow::Prune(kept, count) => {
                let kept: Vec<String> = kept.iter().map(|at| (at + 1).to_string()).collect();
                write!(f, "P[{}/{count}]", kept.join(", "))
            }
            Arrow::Apply(op) => write!(f, "F({})", super::printing::operation_name(op)),
            Arrow::Compose(first, second) => write!(f, "{first}; {second}"),
            Arrow::Tuple(parts) => write!(f, "({})", list(parts)),
            Arrow::If(parts) => write!(f, "IF({})", list(&**parts)),
            Arrow::Let(bound, body) => write!(f, "L({bound}, {body})"),
            Arrow::Build { sizes, body, .. } => write!(f, "B({}, {body})", list(sizes)),
            Arrow::Sum { sizes, body, .. } => write!(f, "B({}, {body}); F(sum)", list(sizes)),
        }
    }
}
