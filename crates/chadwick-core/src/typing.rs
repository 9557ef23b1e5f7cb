//! The types of an operation's results, given the types of its operands.
//!
//! One function, [`result_types`], holds the typing rules of every [`Op`]. The builder uses it to infer binders, the verifier to
//! check them. Blocks inside an operation are looked at only through the types of their results: whoever owns the blocks has typed
//! them before.

use crate::prim::PrimOp;
use crate::term::*;
use crate::types::*;

/// What the rules ask of their surroundings.
pub trait TypeEnvironment {
    fn var_type(&self, var: Var) -> Option<&Type>;
    fn function(&self, function: FunctionId) -> Option<&Function>;
    fn type_definition(&self, id: TypeId) -> Option<&TypeDefinition>;
}

pub type TypingResult<T> = Result<T, String>;

/// The type of an atom.
pub fn atom_type(env: &dyn TypeEnvironment, atom: &Atom) -> TypingResult<Type> {
    match atom {
        Atom::Const(constant) => Ok(Type::Prim(constant.prim())),
        Atom::Var(var) => env.var_type(*var).cloned().ok_or_else(|| format!("variable {} has no type here", var.0)),
    }
}

pub fn atom_types(env: &dyn TypeEnvironment, atoms: &[Atom]) -> TypingResult<Vec<Type>> {
    atoms.iter().map(|atom| atom_type(env, atom)).collect()
}

/// The constructors of a sum type, structural or named.
pub fn constructors<'a>(env: &'a dyn TypeEnvironment, ty: &'a Type) -> Option<&'a [Constructor]> {
    match ty {
        Type::Sum(constructors) => Some(constructors),
        Type::Named(id) => env.type_definition(*id).map(|definition| definition.constructors.as_slice()),
        _ => None,
    }
}

/// What both types agree on: dimensions that differ become [`Dim::Any`].
pub fn join(left: &Type, right: &Type) -> Type {
    match (left, right) {
        (Type::Array(a), Type::Array(b)) if a.dims.len() == b.dims.len() => {
            let dims = a.dims.iter().zip(&b.dims).map(|(a, b)| if a == b { *a } else { Dim::Any }).collect();
            Type::Array(ArrayType { element: a.element.clone(), dims })
        }
        (Type::Sum(a), Type::Sum(b)) if a.len() == b.len() => Type::Sum(
            a.iter()
                .zip(b.iter())
                .map(|(a, b)| Constructor {
                    name: a.name.clone(),
                    payload: a.payload.iter().zip(&b.payload).map(|(a, b)| join(a, b)).collect(),
                })
                .collect(),
        ),
        _ => left.clone(),
    }
}

fn size_dim(size: &Atom) -> Dim {
    match size {
        Atom::Const(crate::Const::I64(value)) => Dim::Const((*value).max(0)),
        _ => Dim::Any,
    }
}

fn space_dims(space: &[Axis]) -> Vec<Dim> {
    space.iter().map(|axis| size_dim(&axis.size)).collect()
}

fn expect_type(what: &str, found: &Type, wanted: &Type) -> TypingResult<()> {
    match found.compatible(wanted) {
        true => Ok(()),
        false => Err(format!("{what} has type {found:?}, not {wanted:?}")),
    }
}

fn expect_types(what: &str, found: &[Type], wanted: &[Type]) -> TypingResult<()> {
    if found.len() != wanted.len() {
        return Err(format!("{what}: {} values where {} belong", found.len(), wanted.len()));
    }
    found.iter().zip(wanted).enumerate().try_for_each(|(at, (found, wanted))| expect_type(&format!("{what} {at}"), found, wanted))
}

fn expect_integer(env: &dyn TypeEnvironment, what: &str, atom: &Atom) -> TypingResult<()> {
    expect_type(what, &atom_type(env, atom)?, &Type::I64)
}

fn check_space(env: &dyn TypeEnvironment, space: &[Axis]) -> TypingResult<()> {
    space.iter().try_for_each(|axis| expect_integer(env, "a size", &axis.size))
}

fn check_sizes(env: &dyn TypeEnvironment, what: &str, ty: &Type, sizes: &[Size]) -> TypingResult<()> {
    // No sizes at all is the same as taking each from the value.
    if !sizes.is_empty() && sizes.len() != ty.rank() {
        return Err(format!("{what}: {} inner sizes for rank {}", sizes.len(), ty.rank()));
    }
    sizes.iter().try_for_each(|size| match size {
        Size::Known(atom) => expect_integer(env, "an inner size", atom),
        Size::FromValue => Ok(()),
    })
}

/// The arrays that an index space and element types make. A unit in the body is no value: an array of units is bound without one.
fn arrays_over(space: &[Axis], elements: Vec<Type>) -> Vec<Type> {
    elements.into_iter().map(|element| element.array(space_dims(space))).collect()
}

fn expect_array<'a>(what: &str, ty: &'a Type) -> TypingResult<&'a ArrayType> {
    match ty {
        Type::Array(array) => Ok(array),
        other => Err(format!("{what} has type {other:?}, not an array type")),
    }
}

fn check_operator(what: &str, op: &Lambda, element: &[Type]) -> TypingResult<()> {
    let params: Vec<Type> = op.params.iter().map(|param| param.ty.clone()).collect();
    let twice: Vec<Type> = element.iter().chain(element).cloned().collect();
    expect_types(&format!("{what}: parameter"), &params, &twice)?;
    expect_types(&format!("{what}: result"), &op.results, element)
}

/// The parts selected by `dims`, as the dimensions that remain.
fn sliced(env: &dyn TypeEnvironment, array: &ArrayType, dims: &[SliceDim]) -> TypingResult<Option<Type>> {
    if dims.len() > array.dims.len() {
        return Err(format!("{} slice dimensions for rank {}", dims.len(), array.dims.len()));
    }
    let mut rest = Vec::new();
    for dim in dims {
        match dim {
            SliceDim::Index(index) => expect_integer(env, "an index", index)?,
            SliceDim::Range { start, count, stride } => {
                expect_integer(env, "a slice start", start)?;
                expect_integer(env, "a slice count", count)?;
                expect_integer(env, "a slice stride", stride)?;
                rest.push(size_dim(count));
            }
        }
    }
    rest.extend(&array.dims[dims.len()..]);
    Ok(match rest.is_empty() {
        true => array.element.as_type(),
        false => Some(Type::Array(ArrayType { element: array.element.clone(), dims: rest })),
    })
}

fn indexed(env: &dyn TypeEnvironment, array: &ArrayType, indices: &[Atom]) -> TypingResult<Option<Type>> {
    let dims: Vec<SliceDim> = indices.iter().cloned().map(SliceDim::Index).collect();
    sliced(env, array, &dims)
}

/// Types a writer into `dest`: the body gives `rank` indices, then one value per destination.
fn check_writes(
    env: &dyn TypeEnvironment,
    space: &[Axis],
    dest: &[Atom],
    rank: usize,
    body: &Block,
) -> TypingResult<(Vec<Type>, Vec<Type>)> {
    check_space(env, space)?;
    let dests = atom_types(env, dest)?;
    let results = atom_types(env, &body.results)?;
    if results.len() < rank {
        return Err(format!("the body gives {} values, not {rank} indices", results.len()));
    }
    results[..rank].iter().try_for_each(|ty| expect_type("an index", ty, &Type::I64))?;
    let mut values = Vec::new();
    for dest in &dests {
        let array = expect_array("a destination", dest)?;
        if rank == 0 || rank > array.dims.len() {
            return Err(format!("{rank} indices into rank {}", array.dims.len()));
        }
        values.extend(dest.peel(rank));
    }
    expect_types("a written value", &results[rank..], &values)?;
    Ok((dests, values))
}

/// The types of what `op` binds; an error says which rule is broken. Nested blocks must be typed already.
pub fn result_types(env: &dyn TypeEnvironment, op: &Op) -> TypingResult<Vec<Type>> {
    match op {
        Op::Copy(atoms) => atom_types(env, atoms),
        Op::Prim(prim, args) => prim_types(env, *prim, args),
        Op::If { condition, then, otherwise } => {
            expect_type("the condition", &atom_type(env, condition)?, &Type::BOOL)?;
            join_blocks(env, [then, otherwise].into_iter())
        }
        Op::Call { function, args } => {
            let callee = env.function(*function).ok_or_else(|| format!("no function {}", function.0))?;
            let params: Vec<Type> = callee.params.iter().map(|param| param.ty.clone()).collect();
            expect_types("argument", &atom_types(env, args)?, &params)?;
            Ok(callee.results.clone())
        }
        Op::Closure(lambda) => Ok(vec![lambda_type(lambda)]),
        Op::Apply { function, args } => match atom_type(env, function)? {
            Type::Function(function) => {
                expect_types("argument", &atom_types(env, args)?, &function.params)?;
                Ok(function.results.clone())
            }
            other => Err(format!("applied value has type {other:?}, not a function type")),
        },
        Op::Construct { ty, tag, args } => {
            let constructor = constructors(env, ty).and_then(|all| all.get(*tag as usize));
            let constructor = constructor.ok_or_else(|| format!("no constructor {tag} in {ty:?}"))?;
            expect_types("payload", &atom_types(env, args)?, &constructor.payload)?;
            Ok(vec![ty.clone()])
        }
        Op::Match { scrutinee, arms, otherwise } => match_types(env, scrutinee, arms, otherwise.as_ref()),
        Op::Build { space, body, inner } => {
            check_space(env, space)?;
            if space.is_empty() {
                return Err(String::from("an index space without axes"));
            }
            let elements = atom_types(env, &body.results)?;
            if inner.len() != elements.len() {
                return Err(format!("inner sizes for {} results, the body has {}", inner.len(), elements.len()));
            }
            elements.iter().zip(inner).try_for_each(|(ty, sizes)| check_sizes(env, "build", ty, sizes))?;
            Ok(arrays_over(space, elements))
        }
        Op::Reduce { space, op, neutral, body, commutative: _ } => {
            check_space(env, space)?;
            let neutral = atom_types(env, neutral)?;
            check_operator("the operator", op, &neutral)?;
            expect_types("element", &atom_types(env, &body.results)?, &neutral)?;
            Ok(op.results.iter().zip(&neutral).map(|(a, b)| join(a, b)).collect())
        }
        Op::Scan { axis, op, neutral, body } => {
            check_space(env, std::slice::from_ref(axis))?;
            let neutral = atom_types(env, neutral)?;
            check_operator("the operator", op, &neutral)?;
            expect_types("element", &atom_types(env, &body.results)?, &neutral)?;
            Ok(arrays_over(std::slice::from_ref(axis), neutral))
        }
        Op::Hist { space, dest, rank, op, neutral, body } => {
            let (dests, values) = check_writes(env, space, dest, *rank, body)?;
            expect_types("a neutral element", &atom_types(env, neutral)?, &values)?;
            check_operator("the operator", op, &values)?;
            Ok(dests)
        }
        Op::Scatter { space, dest, rank, body } => Ok(check_writes(env, space, dest, *rank, body)?.0),
        Op::Loop(the_loop) => loop_types(env, the_loop),
        Op::Assert { condition, message } => {
            expect_type("the condition", &atom_type(env, condition)?, &Type::BOOL)?;
            for part in message {
                if let MessagePart::Value(atom) = part {
                    atom_type(env, atom)?;
                }
            }
            Ok(Vec::new())
        }
        Op::Par { left, right } => {
            let mut types = atom_types(env, &left.results)?;
            types.extend(atom_types(env, &right.results)?);
            Ok(types)
        }
        Op::Recompute(block) => atom_types(env, &block.results),
        Op::Trace { tag: _, args } => atom_types(env, args),
        Op::Differentiate(differentiate) => differentiate_types(env, differentiate),
        Op::Custom(custom) => custom_types(env, custom),
        Op::WithAccumulators { handles, init, body } => {
            let init = atom_types(env, init)?;
            let handles: Vec<Type> = handles.iter().map(|handle| handle.ty.clone()).collect();
            let wanted: Vec<Type> = init.iter().map(|ty| Type::Accumulator(ty.clone().into())).collect();
            expect_types("handle", &handles, &wanted)?;
            let mut types = init;
            types.extend(atom_types(env, &body.results)?);
            Ok(types)
        }
        Op::Accumulate { handle, path, value } => {
            let Type::Accumulator(content) = atom_type(env, handle)? else {
                return Err(String::from("accumulation into something that is no accumulator"));
            };
            let part = path_type(env, &content, path)?;
            expect_type("the accumulated value", &atom_type(env, value)?, &part)?;
            Ok(Vec::new())
        }
        Op::WithLog { handle, start, body } => {
            let Type::Log(log) = &handle.ty else { return Err(String::from("the handle of a log is none")) };
            expect_type("the first number of a log", &atom_type(env, start)?, &Type::I64)?;
            if let Some(array) = log.values.iter().find(|ty| ty.rank() > 0) {
                return Err(format!("a log has no columns of arrays, such as {array:?}"));
            }
            let mut types = log.columns();
            types.extend(atom_types(env, &body.results)?);
            Ok(types)
        }
        Op::Log { handle, indices, values } => {
            let Type::Log(log) = atom_type(env, handle)? else {
                return Err(String::from("a row for something that is no log"));
            };
            expect_types("an index of a row", &atom_types(env, indices)?, &vec![Type::I64; log.indices])?;
            expect_types("a value of a row", &atom_types(env, values)?, &log.values)?;
            Ok(vec![Type::I64])
        }
        Op::ArrayLiteral { .. }
        | Op::Index { .. }
        | Op::Slice { .. }
        | Op::Update { .. }
        | Op::Transpose { .. }
        | Op::Reshape { .. }
        | Op::Concat { .. }
        | Op::Dim { .. } => array_types(env, op),
    }
}

/// The operations on whole arrays that have no body.
fn array_types(env: &dyn TypeEnvironment, op: &Op) -> TypingResult<Vec<Type>> {
    match op {
        Op::ArrayLiteral { ty, elements, inner } => {
            let elements = atom_types(env, elements)?;
            elements.iter().try_for_each(|element| expect_type("an element", element, ty))?;
            check_sizes(env, "array literal", ty, inner)?;
            Ok(vec![ty.clone().array([Dim::Const(elements.len() as i64)])])
        }
        Op::Index { array, indices } => {
            let ty = atom_type(env, array)?;
            Ok(indexed(env, expect_array("the indexed value", &ty)?, indices)?.into_iter().collect())
        }
        Op::Slice { array, dims } => {
            let ty = atom_type(env, array)?;
            Ok(sliced(env, expect_array("the sliced value", &ty)?, dims)?.into_iter().collect())
        }
        Op::Update { array, dims, value } => {
            let ty = atom_type(env, array)?;
            match sliced(env, expect_array("the updated value", &ty)?, dims)? {
                Some(part) => expect_type("the new part", &atom_type(env, value)?, &part)?,
                None => return Err(String::from("an update of a unit")),
            }
            Ok(vec![ty])
        }
        Op::Transpose { array, permutation } => {
            let ty = atom_type(env, array)?;
            let array = expect_array("the transposed value", &ty)?;
            let mut sorted = permutation.clone();
            sorted.sort_unstable();
            if !sorted.into_iter().eq(0..array.dims.len()) {
                return Err(format!("{permutation:?} is no permutation of {} axes", array.dims.len()));
            }
            let dims = permutation.iter().map(|axis| array.dims[*axis]).collect();
            Ok(vec![Type::Array(ArrayType { element: array.element.clone(), dims })])
        }
        Op::Reshape { array, dims } => {
            let ty = atom_type(env, array)?;
            let array = expect_array("the reshaped value", &ty)?;
            if dims.is_empty() {
                return Err(String::from("a reshape to no dimensions"));
            }
            dims.iter().try_for_each(|dim| expect_integer(env, "a dimension", dim))?;
            let dims = dims.iter().map(size_dim).collect();
            Ok(vec![Type::Array(ArrayType { element: array.element.clone(), dims })])
        }
        Op::Concat { arrays } => {
            let types = atom_types(env, arrays)?;
            let first = types.first().ok_or_else(|| String::from("a concatenation of nothing"))?;
            let mut array = expect_array("the concatenated value", first)?.clone();
            array.dims[0] = Dim::Any;
            let whole = Type::Array(array);
            types.iter().try_for_each(|ty| expect_type("a concatenated array", ty, &whole))?;
            Ok(vec![types.iter().skip(1).fold(whole.clone(), |a, b| match (join(&a, b), &whole) {
                (Type::Array(mut joined), _) => {
                    joined.dims[0] = Dim::Any;
                    Type::Array(joined)
                }
                (other, _) => other,
            })])
        }
        Op::Dim { array, axis } => {
            let ty = atom_type(env, array)?;
            match *axis < expect_array("the measured value", &ty)?.dims.len() {
                true => Ok(vec![Type::I64]),
                false => Err(format!("axis {axis} of rank {}", ty.rank())),
            }
        }
        _ => Err(String::from("not an array operation")),
    }
}

pub fn lambda_type(lambda: &Lambda) -> Type {
    let params = lambda.params.iter().map(|param| param.ty.clone()).collect();
    Type::Function(FunctionType { params, results: lambda.results.clone() }.into())
}

fn prim_types(env: &dyn TypeEnvironment, prim: PrimOp, args: &[Atom]) -> TypingResult<Vec<Type>> {
    if !prim.is_valid() {
        return Err(format!("there is no {}", prim.name()));
    }
    let wanted: Vec<Type> = prim.operands().iter().map(|prim| Type::Prim(*prim)).collect();
    expect_types(&format!("operand of {}:", prim.name()), &atom_types(env, args)?, &wanted)?;
    Ok(vec![Type::Prim(prim.result())])
}

fn join_blocks<'a>(env: &dyn TypeEnvironment, blocks: impl Iterator<Item = &'a Block>) -> TypingResult<Vec<Type>> {
    let mut joined: Option<Vec<Type>> = None;
    for block in blocks {
        let types = atom_types(env, &block.results)?;
        joined = Some(match joined {
            None => types,
            Some(before) => {
                let merged: Vec<Type> = before.iter().zip(&types).map(|(a, b)| join(a, b)).collect();
                expect_types("branch result", &types, &merged)?;
                merged
            }
        });
    }
    Ok(joined.unwrap_or_default())
}

fn match_types(env: &dyn TypeEnvironment, scrutinee: &Atom, arms: &[Arm], otherwise: Option<&Block>) -> TypingResult<Vec<Type>> {
    let ty = atom_type(env, scrutinee)?;
    let all = constructors(env, &ty).ok_or_else(|| format!("the scrutinee has type {ty:?}, not a sum type"))?;
    let mut seen = vec![false; all.len()];
    for arm in arms {
        let constructor = all.get(arm.tag as usize).ok_or_else(|| format!("no constructor {} in {ty:?}", arm.tag))?;
        if std::mem::replace(&mut seen[arm.tag as usize], true) {
            return Err(format!("two arms for constructor {}", arm.tag));
        }
        let binders: Vec<Type> = arm.binders.iter().map(|binder| binder.ty.clone()).collect();
        expect_types("payload", &binders, &constructor.payload)?;
    }
    if otherwise.is_none() && seen.contains(&false) {
        return Err(String::from("a constructor has no arm"));
    }
    if arms.is_empty() && otherwise.is_none() {
        return Err(String::from("a match without arms"));
    }
    join_blocks(env, arms.iter().map(|arm| &arm.body).chain(otherwise))
}

fn loop_types(env: &dyn TypeEnvironment, the_loop: &Loop) -> TypingResult<Vec<Type>> {
    let carry: Vec<Type> = the_loop.carry.iter().map(|binder| binder.ty.clone()).collect();
    expect_types("initial value", &atom_types(env, &the_loop.initial)?, &carry)?;
    match &the_loop.form {
        LoopForm::For { index, bound } => {
            let bound = atom_type(env, bound)?;
            if !bound.as_prim().is_some_and(Prim::is_integer) {
                return Err(format!("the bound has type {bound:?}"));
            }
            expect_type("the loop index", &index.ty, &bound)?;
        }
        LoopForm::While { condition } => {
            expect_types("the condition", &atom_types(env, &condition.results)?, &[Type::BOOL])?;
        }
    }
    let results = atom_types(env, &the_loop.body.results)?;
    if results.len() != carry.len() + the_loop.emits.len() {
        return Err(format!(
            "the body gives {} values for {} carried and {} emitted",
            results.len(),
            carry.len(),
            the_loop.emits.len()
        ));
    }
    let (next, emitted) = results.split_at(carry.len());
    expect_types("the next carry", next, &carry)?;
    emitted.iter().zip(&the_loop.emits).try_for_each(|(ty, sizes)| check_sizes(env, "emit", ty, sizes))?;
    let mut types = carry;
    if the_loop.counted {
        types.push(Type::I64);
    }
    types.extend(emitted.iter().map(|ty| ty.clone().array([Dim::Any])));
    Ok(types)
}

/// Types with one more axis in front, for modes with many seeds.
pub fn with_seed_axis(types: &[Type]) -> Vec<Type> {
    types.iter().map(|ty| ty.clone().array([Dim::Any])).collect()
}

/// The types of values that have a set for each number of other values, for [`Mode::Dependencies`].
pub fn set_types(types: &[Type]) -> TypingResult<Vec<Type>> {
    let set = |ty: &Type| match ty {
        Type::Prim(Prim::Bool) => Err(String::from("dependencies of a boolean")),
        Type::Prim(_) => Ok(Type::Prim(Prim::U64)),
        Type::Array(array) => match array.element {
            Element::Prim(prim) if prim != Prim::Bool => Ok(Type::Prim(Prim::U64).array(array.dims.clone())),
            _ => Err(String::from("dependencies of an array whose elements are no numbers")),
        },
        _ => Err(String::from("dependencies of a value that is neither a number nor an array of numbers")),
    };
    types.iter().map(set).collect()
}

fn differentiate_types(env: &dyn TypeEnvironment, differentiate: &Differentiate) -> TypingResult<Vec<Type>> {
    let params: Vec<Type> = differentiate.function.params.iter().map(|param| param.ty.clone()).collect();
    let results = &differentiate.function.results;
    expect_types("argument", &atom_types(env, &differentiate.args)?, &params)?;
    let (seeds, derivative) = match differentiate.mode {
        Mode::Jvp => (params, results.clone()),
        Mode::Vjp => (results.clone(), params),
        Mode::Jmp => (with_seed_axis(&params), with_seed_axis(results)),
        Mode::Mjp => (with_seed_axis(results), with_seed_axis(&params)),
        Mode::Dependencies => (with_seed_axis(&set_types(&params)?), with_seed_axis(&set_types(results)?)),
    };
    expect_types("seed", &atom_types(env, &differentiate.seeds)?, &seeds)?;
    let many = differentiate.mode.is_many();
    match &differentiate.count {
        Some(count) if many => expect_integer(env, "the number of seeds", count)?,
        None if !many => {}
        Some(_) => return Err(String::from("a number of seeds where there is one")),
        None => return Err(String::from("the number of seeds is missing")),
    }
    let mut types = if differentiate.with_primal { results.clone() } else { Vec::new() };
    types.extend(derivative);
    Ok(types)
}

fn custom_types(env: &dyn TypeEnvironment, custom: &Custom) -> TypingResult<Vec<Type>> {
    let params: Vec<Type> = custom.function.params.iter().map(|param| param.ty.clone()).collect();
    expect_types("argument", &atom_types(env, &custom.args)?, &params)?;
    let rule_params: Vec<Type> = custom.rule.params.iter().map(|param| param.ty.clone()).collect();
    let all = &custom.function.results;
    let tape = match custom.kind {
        CustomKind::VjpTape { tape } => tape,
        _ => 0,
    };
    if tape > all.len() {
        return Err(format!("{tape} tape values, but the function gives {}", all.len()));
    }
    let (saved, results) = all.split_at(tape);
    let (wanted_params, wanted_results) = match custom.kind {
        CustomKind::Vjp => ([results, results].concat(), params),
        CustomKind::VjpTape { .. } => ([saved, results].concat(), params),
        CustomKind::Jvp => ([&params[..], &params[..]].concat(), results.to_vec()),
    };
    expect_types("parameter of the rule:", &rule_params, &wanted_params)?;
    expect_types("result of the rule:", &custom.rule.results, &wanted_results)?;
    Ok(results.to_vec())
}

/// The type of the part of a value that a path leads to.
pub fn path_type(env: &dyn TypeEnvironment, whole: &Type, path: &[PathStep]) -> TypingResult<Type> {
    let mut here = whole.clone();
    for step in path {
        here = match step {
            PathStep::Index(indices) => indexed(env, expect_array("the indexed part", &here)?, indices)?
                .ok_or_else(|| String::from("a path to a unit"))?,
            PathStep::Slice(dims) => {
                sliced(env, expect_array("the sliced part", &here)?, dims)?.ok_or_else(|| String::from("a path to a unit"))?
            }
            PathStep::Payload { tag, field } => {
                let payload = constructors(env, &here).and_then(|all| all.get(*tag as usize)).map(|found| &found.payload);
                let field_type = payload.and_then(|payload| payload.get(*field)).cloned();
                field_type.ok_or_else(|| format!("no field {field} of constructor {tag} in {here:?}"))?
            }
        };
    }
    Ok(here)
}

/// Whether values of the type may hold functions.
pub fn has_functions(program: &Program, ty: &Type) -> bool {
    may_hold(program, ty, &|ty| matches!(ty, Type::Function(_)))
}

/// Whether values of the type may hold values of such types, at any depth.
pub fn may_hold(program: &Program, ty: &Type, is_such: &dyn Fn(&Type) -> bool) -> bool {
    fn search(program: &Program, ty: &Type, is_such: &dyn Fn(&Type) -> bool, seen: &mut Vec<TypeId>) -> bool {
        if is_such(ty) {
            return true;
        }
        match ty {
            Type::Prim(_) | Type::Accumulator(_) | Type::Log(_) => false,
            Type::Function(function) => {
                function.params.iter().chain(&function.results).any(|ty| search(program, ty, is_such, seen))
            }
            Type::Array(array) => array.element.as_type().is_some_and(|element| search(program, &element, is_such, seen)),
            Type::Sum(constructors) => {
                constructors.iter().flat_map(|it| &it.payload).any(|ty| search(program, ty, is_such, seen))
            }
            Type::Named(id) => {
                if seen.contains(id) {
                    return false;
                }
                seen.push(*id);
                let definition = program.types.get(id.0 as usize);
                let payloads = definition.iter().flat_map(|it| &it.constructors).flat_map(|it| &it.payload);
                payloads.into_iter().any(|ty| search(program, ty, is_such, seen))
            }
        }
    }
    search(program, ty, is_such, &mut Vec::new())
}
