//! Matrix products out of loops that do other things too.
//!
//! Inside a parallel nest stands a sum of products whose factors, over all the axes of the nest, are two matrices: either a build of
//! reductions, or an accumulation whose path leaves axes out. It gets a nest of its own, for which back ends have a fast way: what the
//! factors are made of becomes results of the nest (as large as a tape of them would be), and the sum is taken over those.

mod factor;
mod find;

use chadwick_core::visit::{Copier, for_each_binder, op_free_variables, variable_types};
use chadwick_core::{Atom, Axis, Binder, Block, Const, Dim, Element, Lambda, Op, Prim, Program, Size, Statement, Type, Var};
use chadwick_source::Span;
use factor::Factoring;
use find::{Factor, Found, Kind, Level, Made, find};
use rustc_hash::{FxHashMap, FxHashSet};

/// Gives sums of products in parallel nests a nest of their own.
pub fn distribute(program: &mut Program) {
    let types = variable_types(program);
    let mut pass = Distribute { program, types };
    for at in 0..pass.program.functions.len() {
        let body = std::mem::take(&mut pass.program.functions[at].body);
        let body = pass.block(body, &mut Vec::new());
        pass.program.functions[at].body = body;
    }
}

struct Distribute<'p> {
    program: &'p mut Program,
    types: Vec<Option<Type>>,
}

impl Distribute<'_> {
    fn block(&mut self, block: Block, around: &mut Vec<Level>) -> Block {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut out = Vec::with_capacity(block.statements.len());
            for statement in block.statements {
                let statement = self.inside(statement, around);
                self.root(statement, around, &mut out);
                if let (Some(level), Some(last)) = (around.last_mut(), out.last()) {
                    level.define(last);
                }
            }
            Block { statements: out, results: block.results }
        })
    }

    fn inside(&mut self, statement: Statement, around: &mut Vec<Level>) -> Statement {
        let op = match statement.op {
            Op::Build { space, body, inner } => {
                around.push(Level::new(&space));
                let body = self.block(body, around);
                around.pop();
                Op::Build { space, body, inner }
            }
            // What is inside an accumulator's scope is still in the same loops.
            Op::WithAccumulators { handles, init, body } => {
                Op::WithAccumulators { handles, init, body: self.block(body, around) }
            }
            op => op.map_blocks(&mut |block| self.block(block, &mut Vec::new())),
        };
        Statement { op, ..statement }
    }

    /// Takes sums of products out of a nest until there are no more.
    fn root(&mut self, statement: Statement, around: &[Level], out: &mut Vec<Statement>) {
        const AT_MOST: usize = 12;
        let mut waiting = vec![statement];
        let mut splits = 0;
        while let Some(statement) = waiting.pop() {
            let replacement = match splits < AT_MOST {
                true => find(&statement, around).and_then(|found| self.split(&statement, &found, around)),
                false => None,
            };
            match replacement {
                Some(replacement) => {
                    splits += 1;
                    waiting.extend(replacement.into_iter().rev());
                }
                None => out.push(statement),
            }
        }
    }

    fn fresh(&mut self, name: &str, ty: Type) -> Binder {
        let var = self.program.fresh(name);
        self.declare(var, &ty);
        Binder { var, ty }
    }

    fn declare(&mut self, var: Var, ty: &Type) {
        let at = var.0 as usize;
        if self.types.len() <= at {
            self.types.resize(at + 1, None);
        }
        self.types[at] = Some(ty.clone());
    }

    /// The nest in parts: what makes the factors, the sum of products, and the rest.
    fn split(&mut self, root: &Statement, found: &Found, around: &[Level]) -> Option<Vec<Statement>> {
        // Sizes must be known where the sum will stand.
        let bound = bound_in(root);
        let axes = found.levels.iter().flatten().chain(&found.kept).chain(&found.summed);
        if axes.into_iter().any(|axis| matches!(axis.size, Atom::Var(var) if bound.contains(&var))) {
            return None;
        }
        let mut nest = root.clone();
        match &found.kind {
            Kind::Addition { handle, place } => {
                if matches!(handle, Atom::Var(var) if bound.contains(var)) {
                    return None;
                }
                at_path(&mut nest, &found.path, &mut |body, at| {
                    body.statements.remove(at);
                })?;
                // What costs little gets a nest of its own, for its reader to take in.
                let (mut parts, mut factors) = (Vec::new(), found.factors.clone());
                for factor in &mut factors {
                    let made = self.made_by_itself(factor, found).or_else(|| self.made_alone(&nest, found, factor));
                    if let Some((making, made)) = made {
                        *factor = made;
                        parts.push(making);
                    }
                }
                let factors = self.exported(&mut nest, found, &factors)?;
                let (build, whole) = self.product(found, &factors, &found.kept);
                let op = Op::Accumulate { handle: handle.clone(), path: vec![place.clone()], value: Atom::Var(whole) };
                parts.extend([nest, build, Statement { binders: Vec::new(), op, span: found.span }]);
                Some(parts)
            }
            Kind::Sums => {
                match self.factored(root, found, around) {
                    Some(Factoring::Here(statements)) => return Some(statements),
                    Some(Factoring::Outside) => return None,
                    None => {}
                }
                let (first, factors) = self.making(&nest, found, &found.path, &found.factors)?;
                let outer: Vec<Axis> = found.levels.iter().flatten().cloned().collect();
                let all: Vec<Axis> = outer.iter().chain(&found.kept).cloned().collect();
                let (build, whole) = self.product(found, &factors, &all);
                at_path(&mut nest, &found.path, &mut |body, at| {
                    let indices = outer.iter().map(|axis| Atom::Var(axis.var)).collect();
                    body.statements[at].op = Op::Index { array: Atom::Var(whole), indices };
                })?;
                // What the first nest made is read, not made again.
                for (factor, made) in found.factors.iter().zip(&factors) {
                    let Some(depth) = factor.depth else { continue };
                    let indices: Vec<Atom> = found.around(depth).iter().map(|axis| Atom::Var(axis.var)).collect();
                    let read = Op::Index { array: Atom::Var(made.var), indices };
                    in_body(&mut nest, &found.path[..depth - 1], &mut |body| {
                        let defining = |it: &&mut Statement| {
                            it.binders.len() == 1 && it.binders[0].var == factor.var && !has_effects(&it.op)
                        };
                        if let Some(statement) = body.statements.iter_mut().find(defining) {
                            statement.op = read.clone();
                        }
                    })?;
                }
                let makes_nothing = first.binders.is_empty();
                Some(if makes_nothing { vec![build, nest] } else { vec![first, build, nest] })
            }
        }
    }

    /// A nest that makes factors and nothing else. The path leads into the loops that it needs.
    fn making(
        &mut self,
        nest: &Statement,
        found: &Found,
        path: &[usize],
        factors: &[Factor],
    ) -> Option<(Statement, Vec<Factor>)> {
        let (mut making, renamed) = self.copied(nest);
        as_builds(&mut making, path)?;
        let mut factors = factors.to_vec();
        for factor in factors.iter_mut().filter(|factor| factor.depth.is_some()) {
            factor.var = *renamed.get(&factor.var)?;
        }
        let own = bound_in(&making);
        without_effects(&mut making, &own);
        let factors = self.exported(&mut making, found, &factors)?;
        if let Op::Build { body, .. } = &mut making.op {
            prune(body);
        }
        // A function that is called may add to what it is given.
        let is_accumulator = |var: &Var| matches!(self.types.get(var.0 as usize), Some(Some(Type::Accumulator(_))));
        let adds = op_free_variables(&making.op).iter().any(is_accumulator);
        (!adds).then_some((making, factors))
    }

    /// A loop over those axes that a factor depends on, which makes it.
    fn made_by_itself(&mut self, factor: &Factor, found: &Found) -> Option<(Statement, Factor)> {
        let Made { axes, statements } = factor.made.as_ref()?;
        let (space, renamed) = self.own_axes(axes);
        let mut copier = Copier::new(self.program);
        renamed.into_iter().for_each(|(var, atom)| copier.replace(var, atom));
        let statements: Vec<Statement> = statements.iter().map(|it| copier.statement(it)).collect();
        let results = vec![copier.atom(&Atom::Var(factor.var))];
        for binder in statements.iter().flat_map(|it| &it.binders) {
            self.declare(binder.var, &binder.ty);
        }
        let whole = self.fresh("", Type::Prim(found.prim).array(vec![Dim::Any; space.len()]));
        let op = Op::Build { space, body: Block { statements, results }, inner: vec![Vec::new()] };
        let indices = axes.iter().map(|axis| Atom::Var(axis.var)).collect();
        let made = Factor { var: whole.var, original: whole.var, depth: None, indices, made: None };
        Some((Statement { binders: vec![whole], op, span: found.span }, made))
    }

    /// A nest that makes this factor, if it costs little.
    fn made_alone(&mut self, nest: &Statement, found: &Found, factor: &Factor) -> Option<(Statement, Factor)> {
        let (making, factors) = self.making(nest, found, &found.path[..factor.depth?], std::slice::from_ref(factor))?;
        let made = Factor { depth: None, ..factors.into_iter().next()? };
        is_cheap(&making.op).then_some((making, made))
    }

    /// A copy of a nest with fresh variables, and what became of each.
    fn copied(&mut self, nest: &Statement) -> (Statement, FxHashMap<Var, Var>) {
        let mut copier = Copier::new(self.program);
        let copy = copier.statement(nest);
        let mut renamed = FxHashMap::default();
        for (old, new) in copier.into_replacements() {
            if let Atom::Var(new) = new {
                renamed.insert(old, new);
            }
        }
        for (old, new) in &renamed {
            if let Some(Some(ty)) = self.types.get(old.0 as usize).cloned() {
                self.declare(*new, &ty);
            }
        }
        (copy, renamed)
    }

    /// The factors as arrays outside the nest, with the axes of the loops around them in front.
    fn exported(&mut self, nest: &mut Statement, found: &Found, factors: &[Factor]) -> Option<Vec<Factor>> {
        let mut made = factors.to_vec();
        for factor in &mut made {
            let Some(depth) = factor.depth else { continue };
            let ty = self.types.get(factor.var.0 as usize).cloned().flatten()?;
            element_type(&ty)?;
            let shape = found.shapes.get(&factor.original).cloned().unwrap_or(vec![Size::FromValue; ty.rank()]);
            factor.var = self.export(nest, &found.path[..depth - 1], factor.var, &ty, &shape)?.0;
            let around = found.around(depth).into_iter().map(|axis| Atom::Var(axis.var));
            factor.indices = around.chain(factor.indices.clone()).collect();
        }
        Some(made)
    }

    /// Makes a variable of a body a result of all loops around it; gives its new name, type and sizes.
    fn export(
        &mut self,
        nest: &mut Statement,
        path: &[usize],
        var: Var,
        ty: &Type,
        shape: &[Size],
    ) -> Option<(Var, Type, Vec<Size>)> {
        let Op::Build { space, body, inner } = &mut nest.op else { return None };
        let (value, ty, shape) = match path.split_first() {
            None => (var, ty.clone(), shape.to_vec()),
            Some((at, rest)) => self.export(body.statements.get_mut(*at)?, rest, var, ty, shape)?,
        };
        body.results.push(Atom::Var(value));
        inner.push(shape.clone());
        let sizes: Vec<Size> = space.iter().map(|axis| Size::Known(axis.size.clone())).chain(shape).collect();
        let binder = self.fresh("", element_type(&ty)?.array(vec![Dim::Any; sizes.len()]));
        nest.binders.push(binder.clone());
        Some((binder.var, binder.ty, sizes))
    }

    /// `build kept (sum over summed (left * right))`, with axes of its own.
    fn product(&mut self, found: &Found, factors: &[Factor], kept: &[Axis]) -> (Statement, Var) {
        let span = found.span;
        let (kept, mut renamed) = self.own_axes(kept);
        let (summed, rest) = self.own_axes(&found.summed);
        renamed.extend(rest);
        let mut statements = Vec::new();
        let mut args = Vec::new();
        for factor in factors {
            let atom = |atom: &Atom| match atom {
                Atom::Var(var) => renamed.get(var).cloned().unwrap_or(atom.clone()),
                Atom::Const(_) => atom.clone(),
            };
            let indices: Vec<Atom> = factor.indices.iter().map(atom).collect();
            let binder = self.fresh("", Type::Prim(found.prim));
            let op = match indices.is_empty() {
                true => Op::Copy(vec![Atom::Var(factor.var)]),
                false => Op::Index { array: Atom::Var(factor.var), indices },
            };
            args.push(Atom::Var(binder.var));
            statements.push(Statement { binders: vec![binder], op, span });
        }
        let term = self.fresh("", Type::Prim(found.prim));
        statements.push(Statement { binders: vec![term.clone()], op: Op::Prim(found.op, args), span });
        let body = Block { statements, results: vec![Atom::Var(term.var)] };
        let op = self.plus(found.prim, span);
        let neutral = vec![Atom::Const(Const::zero(found.prim))];
        let reduce = Op::Reduce { space: summed, op, neutral, body, commutative: true };
        let sum = self.fresh("", Type::Prim(found.prim));
        let statements = vec![Statement { binders: vec![sum.clone()], op: reduce, span }];
        let body = Block { statements, results: vec![Atom::Var(sum.var)] };
        let whole = self.fresh("", Type::Prim(found.prim).array(vec![Dim::Any; kept.len()]));
        let op = Op::Build { space: kept, body, inner: vec![Vec::new()] };
        (Statement { binders: vec![whole.clone()], op, span }, whole.var)
    }

    /// The axes with fresh variables, and what became of each.
    fn own_axes(&mut self, axes: &[Axis]) -> (Vec<Axis>, FxHashMap<Var, Atom>) {
        let mut renamed = FxHashMap::default();
        let own = axes.iter().map(|axis| {
            let var = self.fresh("i", Type::I64).var;
            renamed.insert(axis.var, Atom::Var(var));
            Axis { var, size: axis.size.clone() }
        });
        (own.collect(), renamed)
    }

    fn plus(&mut self, prim: Prim, span: Span) -> Lambda {
        Lambda::addition(prim, span, &mut |name, ty| self.fresh(name, ty))
    }
}

/// Does something to the body in which the path ends.
fn at_path(nest: &mut Statement, path: &[usize], change: &mut dyn FnMut(&mut Block, usize)) -> Option<()> {
    let (last, around) = path.split_last()?;
    in_body(nest, around, &mut |body| change(body, *last))
}

/// The loops on the way to a place as builds without results.
fn as_builds(nest: &mut Statement, path: &[usize]) -> Option<()> {
    let (at, rest) = path.split_first()?;
    let op = std::mem::replace(&mut nest.op, Op::Copy(Vec::new()));
    let (Op::Build { space, mut body, .. } | Op::Reduce { space, mut body, .. }) = op else { return None };
    nest.binders.clear();
    body.results.clear();
    if !rest.is_empty() {
        as_builds(body.statements.get_mut(*at)?, rest)?;
    }
    nest.op = Op::Build { space, body, inner: Vec::new() };
    Some(())
}

fn in_body(nest: &mut Statement, path: &[usize], change: &mut dyn FnMut(&mut Block)) -> Option<()> {
    let (Op::Build { body, .. } | Op::Reduce { body, .. }) = &mut nest.op else { return None };
    match path.split_first() {
        None => {
            change(body);
            Some(())
        }
        Some((at, rest)) => in_body(body.statements.get_mut(*at)?, rest, change),
    }
}

/// The body to which a path leads.
fn body_of<'a>(nest: &'a Statement, path: &[usize]) -> Option<&'a Block> {
    let (Op::Build { body, .. } | Op::Reduce { body, .. }) = &nest.op else { return None };
    match path.split_first() {
        None => Some(body),
        Some((at, rest)) => body_of(body.statements.get(*at)?, rest),
    }
}

/// What a statement binds, inside too.
fn bound_in(statement: &Statement) -> FxHashSet<Var> {
    let mut bound = FxHashSet::default();
    for_each_binder(&Block { statements: vec![statement.clone()], results: Vec::new() }, &mut |var, _| {
        bound.insert(var);
    });
    bound
}

/// Whether something inside adds to an accumulator, checks or traces.
pub(crate) fn has_effects(op: &Op) -> bool {
    match op {
        Op::Accumulate { .. } | Op::Assert { .. } | Op::Trace { .. } | Op::Call { .. } | Op::Log { .. } => true,
        op => op.scopes().iter().any(|scope| scope.block.statements.iter().any(|it| has_effects(&it.op))),
    }
}

/// Whether all that happens inside is reading and a little arithmetic.
fn is_cheap(op: &Op) -> bool {
    match op {
        Op::Prim(op, _) => !op.is_heavy(),
        Op::Index { .. } | Op::Copy(_) | Op::Dim { .. } => true,
        Op::Build { body, .. } => body.statements.iter().all(|it| is_cheap(&it.op)),
        _ => false,
    }
}

/// Takes away what adds to accumulators from outside the nest, and checks. `own` is what the nest binds.
fn without_effects(nest: &mut Statement, own: &FxHashSet<Var>) {
    let op = std::mem::replace(&mut nest.op, Op::Copy(Vec::new()));
    nest.op = op.map_blocks(&mut |mut block| {
        let is_effect = |it: &&mut Statement| match &it.op {
            Op::Accumulate { handle, .. } => !matches!(handle, Atom::Var(handle) if own.contains(handle)),
            op => matches!(op, Op::Assert { .. } | Op::Trace { .. }),
        };
        // Nothing in its place, so that paths stay right.
        block.statements.iter_mut().filter(is_effect).for_each(|it| it.op = Op::Copy(Vec::new()));
        block.statements.iter_mut().for_each(|it| without_effects(it, own));
        block
    });
}

/// Drops what the results of a block without effects do not need.
fn prune(block: &mut Block) {
    let mut needed: FxHashSet<Var> = block.results.iter().filter_map(Atom::as_var).collect();
    let mut kept = Vec::new();
    while let Some(mut statement) = block.statements.pop() {
        let wanted: Vec<bool> = statement.binders.iter().map(|binder| needed.contains(&binder.var)).collect();
        if !wanted.contains(&true) {
            continue;
        }
        if let Op::Build { body, inner, .. } = &mut statement.op {
            let mut keep = wanted.iter();
            statement.binders.retain(|_| *keep.next().unwrap_or(&true));
            let mut keep = wanted.iter();
            body.results.retain(|_| *keep.next().unwrap_or(&true));
            let mut keep = wanted.iter();
            inner.retain(|_| *keep.next().unwrap_or(&true));
            prune(body);
        }
        needed.extend(op_free_variables(&statement.op));
        kept.push(statement);
    }
    kept.reverse();
    block.statements = kept;
}

fn element_type(ty: &Type) -> Option<Type> {
    match ty {
        Type::Prim(prim) => Some(Type::Prim(*prim)),
        Type::Array(array) => match array.element {
            Element::Prim(prim) => Some(Type::Prim(prim)),
            _ => None,
        },
        _ => None,
    }
}
