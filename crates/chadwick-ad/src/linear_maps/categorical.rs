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
    /// A form that the paper does not have there: its operands, and an arrow for each of its blocks, from the tuple with what the form binds
    /// for the block behind it.
    Form { op: Box<Op>, operands: Box<Arrow>, blocks: Vec<Arrow> },
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
            op => {
                let mut operands = Vec::new();
                op.for_each_atom(&mut |atom| operands.push(atom.clone()));
                let operands = Box::new(self.tuple(&operands, scope));
                if op.scopes().is_empty() {
                    return Some(Arrow::Compose(operands, Box::new(Arrow::Apply(Box::new(op.clone())))));
                }
                let mut blocks = Vec::new();
                for inner in op.scopes() {
                    blocks.push(self.arrow(inner.block, &[scope, &inner.binders].concat())?);
                }
                Some(Arrow::Form { op: Box::new(op.clone()), operands, blocks })
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
            Arrow::Apply(op) => self.context.emit(with_operands(op, tuple), span),
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
            Arrow::Form { op, operands, blocks } => {
                let operands = self.apply(operands, tuple, span);
                // What the form binds gets new names; what its blocks were is forgotten.
                let alone = Statement { binders: Vec::new(), op: (**op).clone(), span };
                let alone = self.context.copy_block(&Block { statements: vec![alone], results: Vec::new() }, []);
                let Some(statement) = alone.statements.into_iter().next() else { return Vec::new() };
                let own: Vec<Vec<Var>> = statement.op.scopes().into_iter().map(|scope| scope.binders).collect();
                let mut inner = own.into_iter().zip(blocks).map(|(binders, arrow)| {
                    let binders = binders.into_iter().map(Atom::Var);
                    self.block_of(arrow, &tuple.iter().cloned().chain(binders).collect::<Vec<_>>(), span)
                });
                let op = with_operands(&statement.op, &operands);
                let op = op.map_blocks(&mut |block| inner.next().unwrap_or(block));
                self.context.emit(op, span)
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
            Arrow::Apply(op) => self.result_types(op, source)?,
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
            Arrow::Form { op, operands, blocks } => {
                for (scope, arrow) in op.scopes().into_iter().zip(blocks) {
                    let own: Vec<Type> = scope.binders.iter().map(|var| self.context.var_type(*var)).collect();
                    let wanted: Vec<Type> = scope.block.results.iter().map(|result| self.context.type_of(result)).collect();
                    let found = self.target(arrow, &[source.to_vec(), own].concat())?;
                    if !chadwick_core::all_compatible(&found, &wanted) {
                        return Err(format!("{arrow} gives something else"));
                    }
                }
                let operands = self.target(operands, source)?;
                self.result_types(op, &operands)?
            }
        })
    }

    /// What an operation gives for operands of these types.
    fn result_types(&mut self, op: &Op, operands: &[Type]) -> Result<Vec<Type>, String> {
        let operands: Vec<Atom> = operands.iter().map(|ty| Atom::Var(self.context.fresh("", ty.clone()).var)).collect();
        self.context.b.result_types(&with_operands(op, &operands)).map_err(|problem| problem.to_string())
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

/// The operation at other operands.
fn with_operands(op: &Op, operands: &[Atom]) -> Op {
    let (mut op, mut operands) = (op.clone(), operands.iter());
    op.for_each_atom_mut(&mut |atom| {
        if let Some(operand) = operands.next() {
            *atom = operand.clone();
        }
    });
    op
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
            Arrow::Form { op, operands, blocks } => {
                write!(f, "{}({operands}, {})", super::printing::operation_name(op), list(blocks))
            }
        }
    }
}
