//! Reading through views, and builds that are views.

use super::{Simplify, Step};
use chadwick_core::{
    Atom, Axis, BinaryOp, Binder, Block, Const, Dim, Op, PathStep, Prim, PrimOp, Size, SliceDim, Statement, Type, Var,
};
use chadwick_source::Span;

/// Arrays up to this length are written out anew rather than changed, cut or joined: their elements become variables.
pub(super) const LONGEST_LITERAL: usize = 16;

impl Simplify {
    pub(super) fn view(&mut self, op: Op) -> Step {
        match op {
            Op::Index { array, indices } => self.index(array, indices),
            Op::Dim { array, axis } => match &array {
                Atom::Var(var) => match self.facts.size(*var, axis) {
                    Some(size) => Step::Atoms(vec![size]),
                    None => Step::Op(Op::Dim { array, axis }),
                },
                Atom::Const(_) => Step::Op(Op::Dim { array, axis }),
            },
            Op::Transpose { array, permutation } => {
                if permutation.iter().enumerate().all(|(to, from)| to == *from) {
                    return Step::Atoms(vec![array]);
                }
                match self.facts.definition(&array) {
                    Some(Op::Transpose { array: inner, permutation: first }) => {
                        let permutation = permutation.iter().map(|axis| first[*axis]).collect();
                        let array = self.facts.resolve(inner);
                        self.view(Op::Transpose { array, permutation })
                    }
                    _ => Step::Op(Op::Transpose { array, permutation }),
                }
            }
            Op::Reshape { array, dims } => {
                let shape = self.facts.shape(&array);
                let same = shape.len() == dims.len() && shape.iter().zip(&dims).all(|(known, dim)| known.as_ref() == Some(dim));
                if same {
                    return Step::Atoms(vec![array]);
                }
                let mut statements = Vec::new();
                match self.facts.definition(&array) {
                    Some(Op::Reshape { array: inner, .. }) => {
                        let array = self.facts.resolve(inner);
                        self.view(Op::Reshape { array, dims })
                    }
                    _ => match self.literal_reshape(&array, &dims, &mut statements) {
                        Some(literal) => Step::Splice(Block { statements, results: vec![literal] }),
                        None => Step::Op(Op::Reshape { array, dims }),
                    },
                }
            }
            Op::Slice { array, dims } => {
                let shape = self.facts.shape(&array);
                let whole = |(dim, size): (&SliceDim, &Option<Atom>)| match dim {
                    SliceDim::Range { start, count, stride } => {
                        *start == Atom::i64(0) && *stride == Atom::i64(1) && size.as_ref() == Some(count)
                    }
                    SliceDim::Index(_) => false,
                };
                if dims.iter().zip(&shape).all(whole) {
                    return Step::Atoms(vec![array]);
                }
                Step::Op(self.literal_slice(&array, &dims).unwrap_or(Op::Slice { array, dims }))
            }
            Op::Concat { arrays } => match <[Atom; 1]>::try_from(arrays) {
                Ok(single) => Step::Atoms(single.into()),
                Err(arrays) => {
                    let arrays = self.all_parts(arrays);
                    Step::Op(self.literal_concat(&arrays).unwrap_or(Op::Concat { arrays }))
                }
            },
            Op::Update { array, dims, value } => {
                let mut statements = Vec::new();
                match self.literal_update(&array, &dims, &value, &mut statements) {
                    Some(changed) => Step::Splice(Block { statements, results: vec![changed] }),
                    None => Step::Op(Op::Update { array, dims, value }),
                }
            }
            other => Step::Op(other),
        }
    }

    /// An element of something whose elements are known. A read that could be out of range stays.
    fn index(&mut self, array: Atom, indices: Vec<Atom>) -> Step {
        if indices.is_empty() {
            return Step::Atoms(vec![array]);
        }
        if let Some(step) = self.kept_element(&array, &indices) {
            return step;
        }
        // An index below a size says that the size is a length.
        let within = |(axis, index): (&Axis, &Atom)| self.facts.is_within(index, &self.facts.resolve(&axis.size));
        match self.facts.definition(&array) {
            Some(Op::Index { .. }) if matches!(array, Atom::Var(view) if self.own_views.contains(&view)) => {
                Step::Op(Op::Index { array, indices })
            }
            Some(Op::Index { array: inner, indices: first }) => {
                let inner = self.facts.resolve(inner);
                let first = first.iter().map(|index| self.facts.resolve(index));
                let indices = first.chain(indices.iter().cloned()).collect();
                self.index(inner, indices)
            }
            Some(Op::Transpose { array: inner, permutation }) if indices.len() == permutation.len() => {
                let mut moved = indices.clone();
                for (to, from) in permutation.iter().enumerate() {
                    moved[*from] = indices[to].clone();
                }
                let inner = self.facts.resolve(inner);
                self.index(inner, moved)
            }
            Some(Op::ArrayLiteral { elements, .. }) => match indices.as_slice() {
                [Atom::Const(Const::I64(at)), rest @ ..] if (0..elements.len() as i64).contains(at) => {
                    let element = self.facts.resolve(&elements[*at as usize]);
                    self.index(element, rest.to_vec())
                }
                _ => Step::Op(Op::Index { array, indices }),
            },
            Some(Op::Reshape { array: inner, dims }) if indices.len() == dims.len() => {
                let inner = self.facts.resolve(inner);
                match self.place_before_reshape(&inner, dims, &indices) {
                    Some(indices) => self.index(inner, indices),
                    None => Step::Op(Op::Index { array, indices }),
                }
            }
            Some(Op::Slice { array: inner, dims }) if !matches!(inner, Atom::Var(inner) if self.changed.contains(inner)) => {
                let (inner, dims) = (inner.clone(), dims.clone());
                match self.read_part(&inner, &dims, &indices) {
                    Some(block) => Step::Splice(block),
                    None => Step::Op(Op::Index { array, indices }),
                }
            }
            Some(Op::Update { array: before, dims, .. }) if is_elsewhere(dims, &indices) => {
                let before = self.facts.resolve(before);
                // A number that is known. To read the array as it was would be to copy it for the change.
                match self.index(before, indices.clone()) {
                    Step::Atoms(found) => Step::Atoms(found),
                    _ => Step::Op(Op::Index { array, indices }),
                }
            }
            Some(Op::Update { dims, value, .. }) => {
                let same = dims.len() == indices.len()
                    && dims
                        .iter()
                        .zip(&indices)
                        .all(|(dim, index)| matches!(dim, SliceDim::Index(written) if self.facts.resolve(written) == *index));
                if same { Step::Atoms(vec![self.facts.resolve(value)]) } else { Step::Op(Op::Index { array, indices }) }
            }
            Some(Op::Build { space, body, .. })
                if body.statements.is_empty() && space.len() <= indices.len() && space.iter().zip(&indices).all(within) =>
            {
                let result = match &body.results[..] {
                    [Atom::Var(var)] => match space.iter().position(|axis| axis.var == *var) {
                        Some(at) => indices[at].clone(),
                        None => self.facts.resolve(&Atom::Var(*var)),
                    },
                    [constant] => constant.clone(),
                    _ => return Step::Op(Op::Index { array, indices }),
                };
                let rest = indices[space.len()..].to_vec();
                self.index(result, rest)
            }
            _ => Step::Op(Op::Index { array, indices }),
        }
    }

    /// Where an element at a literal place was before an array of literal size got another shape.
    fn place_before_reshape(&self, array: &Atom, dims: &[Atom], indices: &[Atom]) -> Option<Vec<Atom>> {
        let mut place: i64 = 0;
        for (dim, index) in dims.iter().zip(indices) {
            let (size, index) = (literal_i64(&self.facts.resolve(dim))?, literal_i64(index)?);
            (0..size).contains(&index).then_some(())?;
            place = place.checked_mul(size)?.checked_add(index)?;
        }
        let sizes: Vec<i64> = self.facts.shape(array).iter().map(|size| literal_i64(size.as_ref()?)).collect::<Option<_>>()?;
        let mut before: Vec<Atom> = Vec::new();
        for size in sizes.iter().rev() {
            before.push(Atom::i64(place.checked_rem(*size)?));
            place /= size;
        }
        before.reverse();
        (place == 0).then_some(before)
    }

    /// An element at a literal place of a part of an array, read from the array.
    fn read_part(&mut self, array: &Atom, dims: &[SliceDim], indices: &[Atom]) -> Option<Block> {
        let mut statements = Vec::new();
        let mut rest = indices.iter();
        let mut all = Vec::new();
        for dim in dims {
            all.push(match dim {
                SliceDim::Index(index) => index.clone(),
                SliceDim::Range { start, count, stride } => {
                    let place = rest.next()?;
                    let is_inside = (0..literal_i64(&self.facts.resolve(count))?).contains(&literal_i64(place)?);
                    is_inside.then(|| self.place_in_range(start, stride, place, &mut statements))?
                }
            });
        }
        all.extend(rest.cloned());
        let ty = self.facts.type_of(array)?.peel(all.len())?;
        let element = self.fresh("", ty.any_sizes());
        let results = vec![Atom::Var(element.var)];
        let op = Op::Index { array: array.clone(), indices: all };
        statements.push(Statement { binders: vec![element], op, span: Span::default() });
        Some(Block { statements, results })
    }

    /// `start + place * stride`.
    fn place_in_range(&mut self, start: &Atom, stride: &Atom, place: &Atom, out: &mut Vec<Statement>) -> Atom {
        let mut compute = |op: BinaryOp, args: [&Atom; 2]| {
            let binder = self.fresh("", Type::I64);
            let result = Atom::Var(binder.var);
            let op = Op::Prim(PrimOp::Binary(op, Prim::I64), args.map(Atom::clone).into());
            out.push(Statement { binders: vec![binder], op, span: Span::default() });
            result
        };
        let distance = compute(BinaryOp::Mul, [place, stride]);
        compute(BinaryOp::Add, [start, &distance])
    }

    /// What is added to a part of an accumulator and written out, element by element.
    pub(super) fn accumulate_literal(&mut self, op: Op) -> Step {
        let Op::Accumulate { handle, path, value } = &op else { return Step::Op(op) };
        let [PathStep::Slice(dims)] = path.as_slice() else { return Step::Op(op) };
        let mut elements = vec![(Vec::new(), value.clone())];
        let mut statements = Vec::new();
        for dim in dims {
            let mut next = Vec::new();
            for (path, value) in elements {
                match dim {
                    SliceDim::Index(index) => next.push(([path, vec![index.clone()]].concat(), value)),
                    SliceDim::Range { start, stride, .. } => {
                        let Some((_, parts, _)) = self.literal(&value) else { return Step::Op(op) };
                        for (place, part) in parts.into_iter().enumerate() {
                            let place = self.place_in_range(start, stride, &Atom::i64(place as i64), &mut statements);
                            next.push(([path.clone(), vec![place]].concat(), part));
                        }
                    }
                }
            }
            elements = next;
        }
        for (path, value) in elements {
            let op = Op::Accumulate { handle: handle.clone(), path: vec![PathStep::Index(path)], value };
            statements.push(Statement { binders: Vec::new(), op, span: Span::default() });
        }
        Step::Splice(Block { statements, results: Vec::new() })
    }

    // ------------------------------------------------------------------------------------------------------ literal arrays

    /// Type, elements and inner sizes of a short array that is written out.
    fn literal(&self, array: &Atom) -> Option<(Type, Vec<Atom>, Vec<Size>)> {
        match self.facts.definition(array)? {
            Op::ArrayLiteral { ty, elements, inner } if elements.len() <= LONGEST_LITERAL => {
                Some((ty.clone(), elements.iter().map(|element| self.facts.resolve(element)).collect(), inner.clone()))
            }
            _ => None,
        }
    }

    /// The element of a written-out array.
    pub(super) fn literal_element(&self, array: &Atom, places: &[usize]) -> Option<Atom> {
        match places {
            [] => Some(array.clone()),
            [place, rest @ ..] => self.literal_element(self.literal(array)?.1.get(*place)?, rest),
        }
    }

    /// The array itself if it is written out; a short one of zeros is.
    pub(super) fn written_out(&mut self, array: &Atom, prim: Prim, out: &mut Vec<Statement>) -> Option<Atom> {
        if self.literal(array).is_some() {
            return Some(array.clone());
        }
        if !self.is_zero(array) {
            return None;
        }
        let sizes = self.facts.shape(array).into_iter().map(|size| usize::try_from(literal_i64(size.as_ref()?)?).ok());
        let sizes = sizes.collect::<Option<Vec<usize>>>()?;
        let count = sizes.iter().try_fold(1, |count: usize, size| count.checked_mul(*size))?;
        (1..=LONGEST_LITERAL).contains(&count).then_some(())?;
        Some(self.nested_literal(prim, vec![Atom::Const(Const::zero(prim)); count], &sizes, out))
    }

    /// Numbers in row-major order, written out in a shape.
    fn nested_literal(&mut self, prim: Prim, mut elements: Vec<Atom>, sizes: &[usize], out: &mut Vec<Statement>) -> Atom {
        let (mut ty, mut inner) = (Type::Prim(prim), Vec::new());
        // From the innermost outwards.
        for size in sizes.iter().rev() {
            elements = elements.chunks(*size).map(|row| self.new_literal(ty.clone(), row.to_vec(), inner.clone(), out)).collect();
            ty = ty.array([Dim::Const(*size as i64)]);
            inner.insert(0, Size::Known(Atom::i64(*size as i64)));
        }
        elements.swap_remove(0)
    }

    /// A written-out array in another shape, written out.
    fn literal_reshape(&mut self, array: &Atom, dims: &[Atom], out: &mut Vec<Statement>) -> Option<Atom> {
        let literal_size = |dim: &Atom| usize::try_from(literal_i64(&self.facts.resolve(dim))?).ok();
        let sizes: Vec<usize> = dims.iter().map(literal_size).collect::<Option<_>>()?;
        let mut elements = vec![array.clone()];
        while elements.iter().any(|element| self.facts.type_of(element).is_some_and(|ty| ty.rank() > 0)) {
            let rows = elements.iter().map(|row| Some(self.literal(row)?.1)).collect::<Option<Vec<_>>>()?;
            elements = rows.concat();
            (1..=LONGEST_LITERAL).contains(&elements.len()).then_some(())?;
        }
        let prim = self.facts.type_of(elements.first()?)?.as_prim()?;
        let count = sizes.iter().try_fold(1, |count: usize, size| count.checked_mul(*size))?;
        (count == elements.len() && !sizes.is_empty()).then(|| self.nested_literal(prim, elements, &sizes, out))
    }

    fn new_literal(&mut self, ty: Type, elements: Vec<Atom>, inner: Vec<Size>, out: &mut Vec<Statement>) -> Atom {
        let binder = self.fresh("", ty.clone().array([Dim::Const(elements.len() as i64)]));
        let op = Op::ArrayLiteral { ty, elements, inner };
        self.facts.define(binder.var, op.clone());
        let array = Atom::Var(binder.var);
        out.push(Statement { binders: vec![binder], op, span: Span::default() });
        array
    }

    /// A part of a written-out array, written out.
    fn literal_slice(&self, array: &Atom, dims: &[SliceDim]) -> Option<Op> {
        let [SliceDim::Range { start, count, stride }] = dims else { return None };
        let (ty, elements, inner) = self.literal(array)?;
        let (start, count, stride) = (literal_i64(start)?, literal_i64(count)?, literal_i64(stride)?);
        let at = |index: i64| usize::try_from(start.checked_add(stride.checked_mul(index)?)?).ok();
        let elements = (0..count).map(|index| elements.get(at(index)?).cloned()).collect::<Option<_>>()?;
        Some(Op::ArrayLiteral { ty, elements, inner })
    }

    /// The parts of parts that are concatenations themselves: nothing is copied twice.
    fn all_parts(&self, arrays: Vec<Atom>) -> Vec<Atom> {
        const MOST: usize = 8;
        let parts = |array: &Atom| match self.facts.definition(array) {
            Some(Op::Concat { arrays }) => arrays.iter().map(|part| self.facts.resolve(part)).collect(),
            _ => vec![array.clone()],
        };
        let all: Vec<Atom> = arrays.iter().flat_map(parts).collect();
        if all.len() <= MOST { all } else { arrays }
    }

    /// Written-out arrays behind each other, written out.
    fn literal_concat(&self, arrays: &[Atom]) -> Option<Op> {
        let mut parts = arrays.iter().map(|array| self.literal(array));
        let (ty, mut all, inner) = parts.next()??;
        for part in parts {
            let (_, elements, sizes) = part?;
            if sizes != inner {
                return None;
            }
            all.extend(elements);
        }
        (all.len() <= LONGEST_LITERAL).then_some(Op::ArrayLiteral { ty, elements: all, inner })
    }

    /// A written-out array with an element at a literal place changed, written out.
    pub(super) fn literal_update(
        &mut self,
        array: &Atom,
        dims: &[SliceDim],
        value: &Atom,
        out: &mut Vec<Statement>,
    ) -> Option<Atom> {
        let (SliceDim::Index(place), rest) = dims.split_first()? else { return None };
        let (ty, mut elements, inner) = self.literal(array)?;
        let place = elements.get_mut(usize::try_from(literal_i64(place)?).ok()?)?;
        *place = match rest {
            [] if ty.rank() == 0 => value.clone(),
            [] => return None,
            rest => self.literal_update(&place.clone(), rest, value, out)?,
        };
        Some(self.new_literal(ty, elements, inner, out))
    }

    /// The array of which the result of a build is a copy, element by element.
    fn copied(&self, space: &[Axis], body: &Block, result: &Atom) -> Option<Atom> {
        let (array, indices) = self.copied_part(space, body, result)?;
        indices.is_empty().then_some(array)
    }

    /// An array and an index, at which it has the result of a build.
    fn copied_part(&self, space: &[Axis], body: &Block, result: &Atom) -> Option<(Atom, Vec<Atom>)> {
        let made = |it: &Statement| it.binders.iter().position(|binder| Atom::Var(binder.var) == *result);
        let (statement, at) = body.statements.iter().find_map(|it| Some((it, made(it)?)))?;
        let (array, mut indices) = match &statement.op {
            Op::Index { array, indices } => (array.clone(), indices.clone()),
            Op::Build { space, body, .. } => self.copied_part(space, body, &body.results[at])?,
            _ => return None,
        };
        let before = indices.len().checked_sub(space.len())?;
        let in_order = space.iter().zip(&indices[before..]).all(|(axis, index)| *index == Atom::Var(axis.var));
        indices.truncate(before);
        let is_own = |atom: &Atom| {
            let own = body.statements.iter().flat_map(|it| &it.binders).map(|binder| binder.var);
            own.chain(space.iter().map(|axis| axis.var)).any(|var| *atom == Atom::Var(var))
        };
        let shape = self.facts.shape(&array);
        let same = |(axis, size): (&Axis, &Option<Atom>)| size.as_ref() == Some(&self.facts.resolve(&axis.size));
        let is_whole = in_order && shape.len() >= before + space.len() && space.iter().zip(&shape[before..]).all(same);
        (is_whole && !is_own(&array) && !indices.iter().any(is_own)).then_some((array, indices))
    }

    /// Notes results of a build that are the same everywhere, the same as another array, or copies of one.
    pub(super) fn note_elements(&mut self, space: &[Axis], body: &Block, inner: &[Vec<Size>], binders: &[Binder]) {
        for (at, (binder, result)) in binders.iter().zip(&body.results).enumerate() {
            if let Some(first) = body.results[..at].iter().position(|other| other == result) {
                self.facts.replace(binder.var, Atom::Var(binders[first].var));
                continue;
            }
            if let Some(array) = self.copied(space, body, result) {
                self.facts.replace(binder.var, array);
                continue;
            }
            if let Some(elements) = self.elements(space, body, result) {
                match self.facts.known(&elements) {
                    Some(known) => {
                        self.facts.replace(binder.var, known);
                        continue;
                    }
                    None => self.facts.remember(elements, binder.var),
                }
            }
            let is_bound = |var: &Var| body.statements.iter().flat_map(|it| &it.binders).any(|binder| binder.var == *var);
            if !matches!(result, Atom::Var(var) if is_bound(var)) {
                let body = Block { statements: Vec::new(), results: vec![result.clone()] };
                let inner = inner.get(at).cloned().into_iter().collect();
                self.facts.define(binder.var, Op::Build { space: space.to_vec(), body, inner });
            }
        }
    }

    /// States the sizes of elements that are known outside the build.
    fn state_sizes(&self, space: &[Axis], body: &Block, inner: &mut [Vec<Size>]) {
        let is_inside = |atom: &Atom| {
            let mut made = body
                .statements
                .iter()
                .flat_map(|it| &it.binders)
                .map(|binder| binder.var)
                .chain(space.iter().map(|axis| axis.var));
            made.any(|var| *atom == Atom::Var(var))
        };
        for (sizes, result) in inner.iter_mut().zip(&body.results) {
            for (size, known) in sizes.iter_mut().zip(self.facts.shape(result)) {
                if let (Size::FromValue, Some(known)) = (&size, known.filter(|known| !is_inside(known))) {
                    *size = Size::Known(known);
                }
            }
        }
    }

    pub(super) fn build(&mut self, op: Op) -> Step {
        let Op::Build { space, body, mut inner } = op else { return Step::Op(op) };
        self.state_sizes(&space, &body, &mut inner);
        // Whatever else the body does (it may accumulate) must still happen.
        if let ([result], [_]) = (body.results.as_slice(), body.statements.as_slice())
            && let Some(array) = self.copied(&space, &body, result)
        {
            return Step::Atoms(vec![array]);
        }
        if let Some(merged) = as_one_build(&space, &body) {
            return self.build(merged);
        }
        Step::Op(Op::Build { space, body, inner })
    }
}

/// A build of nothing but a build is one build over both spaces. What little the outer one does with
/// places, and to read numbers there, is done in the inner one.
fn as_one_build(space: &[Axis], body: &Block) -> Option<Op> {
    const AT_MOST: usize = 8;
    let (last, places) = body.statements.split_last()?;
    let Op::Build { space: second, body: innermost, inner } = &last.op else { return None };
    let is_place = |it: &Statement| match &it.op {
        Op::Index { .. } => it.binders.iter().all(|binder| binder.ty.rank() == 0),
        Op::Prim(op, _) => op.is_light() && !op.result().is_float(),
        _ => false,
    };
    let gives_all = last.binders.len() == body.results.len()
        && last.binders.iter().zip(&body.results).all(|(binder, result)| *result == Atom::Var(binder.var));
    if !gives_all || places.len() > AT_MOST || !places.iter().all(is_place) {
        return None;
    }
    let made = places.iter().flat_map(|it| &it.binders).map(|binder| binder.var);
    let own: Vec<Var> = space.iter().map(|axis| axis.var).chain(made).collect();
    let is_outside = |atom: &Atom| !own.iter().any(|var| Atom::Var(*var) == *atom);
    let known = inner.iter().flatten().all(|size| match size {
        Size::Known(atom) => is_outside(atom),
        Size::FromValue => true,
    });
    if !known || !second.iter().all(|axis| is_outside(&axis.size)) {
        return None;
    }
    let statements = [places, innermost.statements.as_slice()].concat();
    let body = Block { statements, results: innermost.results.clone() };
    Some(Op::Build { space: [space, second].concat(), body, inner: inner.clone() })
}

/// Whether an update is for certain not at the place that is read.
fn is_elsewhere(dims: &[SliceDim], indices: &[Atom]) -> bool {
    dims.iter().zip(indices).any(|(dim, index)| match (dim, index) {
        (SliceDim::Index(Atom::Const(written)), Atom::Const(read)) => written != read,
        _ => false,
    })
}

fn literal_i64(atom: &Atom) -> Option<i64> {
    match atom {
        Atom::Const(Const::I64(value)) => Some(*value),
        _ => None,
    }
}
