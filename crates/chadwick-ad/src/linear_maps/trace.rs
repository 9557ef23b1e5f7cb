//! A run of a function that gives its results together with its derivative as a value: tupling (Ellis et al., section 5).
//!
//! Every variable has its value and its map, so nothing is computed twice. A call is either given the identity and composed with what comes
//! before it (*basic*), or given the map of its arguments (*polymorphic*); both are the same map. What the map is at run time is up to
//! its [`Representation`]. This is the definition in the small, for scalars, arrays of them, conditionals, calls and loops; the engine
//! itself leaves no map to the run.

use super::functions::derive;
use super::maps::{Chosen, Derived, Factor, Family, Line, Map, Repeat};
use super::represent::Representation;
use crate::context::Context;
use chadwick_core::prim::{Partial, convert, eval};
use chadwick_core::{Atom, Block, Const, FunctionId, Lambda, LoopForm, Op, Prim, PrimOp, Program, Statement, Var};
use rustc_hash::FxHashMap;

/// A number or an array.
#[derive(Clone, Debug)]
pub enum Value {
    Number(Const),
    Array(Vec<Value>),
}

/// What a call does with the map of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tupling {
    Basic,
    Polymorphic,
}

/// Results, their map from the inputs' numbers, and how many primitive operations were done for the results.
pub struct Trace<R> {
    pub results: Vec<Value>,
    pub map: R,
    pub operations: u64,
}

/// Runs a function at arguments whose maps from some inputs are given: `∂̄f : ∀a. (S, a ⊸ S) → (T, a ⊸ T)`.
pub fn trace<R: Representation>(
    program: &Program,
    function: FunctionId,
    args: &[Value],
    map: &R,
    tupling: Tupling,
) -> Result<Trace<R>, String> {
    let mut program = program.clone();
    let mut tracer = Tracer { context: Context::new(&mut program), tupling, operations: 0, inputs: map.inputs() };
    let (results, map) = tracer.function(function, args, map)?;
    Ok(Trace { results, map, operations: tracer.operations })
}

impl Value {
    /// How many numbers it has.
    pub fn size(&self) -> usize {
        match self {
            Value::Number(_) => 1,
            Value::Array(elements) => elements.iter().map(Value::size).sum(),
        }
    }

    /// Its numbers, in order.
    pub fn numbers(&self) -> Vec<f64> {
        match self {
            Value::Number(constant) => vec![as_f64(*constant)],
            Value::Array(elements) => elements.iter().flat_map(Value::numbers).collect(),
        }
    }

    fn integer(&self) -> Result<i64, String> {
        match self {
            Value::Number(constant) => match convert(*constant, Prim::I64) {
                Const::I64(value) => Ok(value),
                _ => Err(String::from("no integer")),
            },
            Value::Array(_) => Err(String::from("an array where a number belongs")),
        }
    }

    fn number(&self) -> Result<Const, String> {
        match self {
            Value::Number(constant) => Ok(*constant),
            Value::Array(_) => Err(String::from("an array where a number belongs")),
        }
    }
}

fn as_f64(constant: Const) -> f64 {
    match convert(constant, Prim::F64) {
        Const::F64(value) => value,
        _ => 0.0,
    }
}

/// The variables of a run: values, and maps of those that depend on the inputs.
#[derive(Clone)]
struct Scope<R> {
    values: FxHashMap<Var, Value>,
    maps: FxHashMap<Var, R>,
}

struct Tracer<'p> {
    context: Context<'p>,
    tupling: Tupling,
    operations: u64,
    /// How many numbers the inputs are.
    inputs: usize,
}

type Pair<R> = (Vec<Value>, R);

impl Tracer<'_> {
    fn function<R: Representation>(&mut self, function: FunctionId, args: &[Value], map: &R) -> Result<Pair<R>, String> {
        let Some(source) = self.context.program().functions.get(function.0 as usize).cloned() else {
            return Err(String::from("no such function"));
        };
        let lambda = Lambda { params: source.params, results: source.results, body: source.body };
        let lambda = self.context.copy_lambda(&lambda);
        let active: Vec<bool> = lambda.params.iter().map(|param| self.context.carries(&param.ty)).collect();
        let (derived, _) = derive(&mut self.context, &lambda, &active, source.span);
        if let Some(error) = self.context.errors.pop() {
            return Err(error.message);
        }
        let mut scope = Scope { values: FxHashMap::default(), maps: FxHashMap::default() };
        let mut start = 0;
        for (param, arg) in lambda.params.iter().zip(args) {
            scope.maps.insert(param.var, R::compose(&part(map.outputs(), start, arg.size()), map));
            scope.values.insert(param.var, arg.clone());
            start += arg.size();
        }
        self.block(&derived, &mut scope)
    }

    fn block<R: Representation>(&mut self, derived: &Derived, scope: &mut Scope<R>) -> Result<Pair<R>, String> {
        for line in &derived.lines {
            self.line(line, scope)?;
        }
        let results = derived.results.iter().map(|result| self.atom(result, scope)).collect::<Result<Vec<Value>, String>>()?;
        let sizes: Vec<usize> = results.iter().map(Value::size).collect();
        let map = self.map(&derived.map, scope, self.inputs, &sizes)?;
        Ok((results, map))
    }

    fn line<R: Representation>(&mut self, line: &Line, scope: &mut Scope<R>) -> Result<(), String> {
        let statement = &line.statement;
        let (values, map) = match (&line.map, &statement.op) {
            (None, _) => (self.statement(statement, scope)?, None),
            (Some(Map::VCatV(family)), _) => {
                let (columns, maps) = self.family(family, scope)?;
                (columns, Some(maps))
            }
            (Some(map), Op::Reduce { neutral, .. }) => self.sum(map, neutral, scope)?,
            (Some(Map::Branch(branches)), _) => {
                let Chosen::If(condition) = &branches.chosen else { return Err(String::from("a sum type")) };
                let chosen = matches!(self.atom(condition, scope)?, Value::Number(Const::Bool(true)));
                let Some(branch) = branches.branches.get(usize::from(!chosen)) else { return Ok(()) };
                let (values, map) = self.block(&branch.body, &mut scope.clone())?;
                (values, Some(map))
            }
            (Some(Map::Repeat(repeat)), _) => {
                let (values, map) = self.repeat(repeat, scope)?;
                (values, Some(map))
            }
            (Some(Map::Compose(last, first)), Op::Call { function, args }) if matches!(**last, Map::Derivative { .. }) => {
                let (values, map) = self.call(*function, args, last, first, scope)?;
                (values, Some(map))
            }
            (Some(map), _) => {
                let values = self.statement(statement, scope)?;
                statement.binders.iter().zip(&values).for_each(|(binder, value)| {
                    scope.values.insert(binder.var, value.clone());
                });
                let sizes: Vec<usize> = values.iter().map(Value::size).collect();
                let map = self.map(map, scope, self.inputs, &sizes)?;
                (values, Some(map))
            }
        };
        let total: usize = values.iter().map(Value::size).sum();
        let mut start = 0;
        for (binder, value) in statement.binders.iter().zip(values) {
            if let Some(map) = &map {
                scope.maps.insert(binder.var, R::compose(&part(total, start, value.size()), map));
            }
            start += value.size();
            scope.values.insert(binder.var, value);
        }
        Ok(())
    }

    /// `Φ(build(n, λi. ∇̄e))`: the arrays, and the map to all of them.
    fn family<R: Representation>(&mut self, family: &Family, scope: &Scope<R>) -> Result<Pair<R>, String> {
        let [axis] = family.space.as_slice() else { return Err(String::from("a space of several axes")) };
        let count = self.atom(&axis.size, scope)?.integer()?.max(0);
        let mut columns: Vec<Vec<Value>> = vec![Vec::new(); family.body.results.len()];
        let mut maps: Vec<Vec<R>> = vec![Vec::new(); columns.len()];
        for at in 0..count {
            let mut inner = scope.clone();
            inner.values.insert(axis.var, Value::Number(Const::I64(at)));
            let (values, map) = self.block(&family.body, &mut inner)?;
            let total: usize = values.iter().map(Value::size).sum();
            let mut start = 0;
            for ((value, column), maps) in values.into_iter().zip(&mut columns).zip(&mut maps) {
                maps.push(R::compose(&part(total, start, value.size()), &map));
                start += value.size();
                column.push(value);
            }
        }
        let maps: Vec<R> = maps.iter().map(|maps| R::vcat(maps, self.inputs)).collect();
        Ok((columns.into_iter().map(Value::Array).collect(), R::vcat(&maps, self.inputs)))
    }

    /// A sum over a family, with its start.
    fn sum<R: Representation>(
        &mut self,
        map: &Map,
        neutral: &[Atom],
        scope: &Scope<R>,
    ) -> Result<(Vec<Value>, Option<R>), String> {
        fn family_of(map: &Map) -> Option<&Family> {
            match map {
                Map::VCatV(family) => Some(family),
                Map::Compose(_, first) => family_of(first),
                Map::Sum(maps) => maps.iter().find_map(family_of),
                _ => None,
            }
        }
        let (Some(family), [start]) = (family_of(map), neutral) else {
            return Err(String::from("a reduction of several values"));
        };
        let (columns, all) = self.family(family, scope)?;
        let mut total = self.atom(start, scope)?.number()?;
        let elements = match columns.into_iter().next() {
            Some(Value::Array(elements)) => elements,
            _ => Vec::new(),
        };
        for element in &elements {
            let op = PrimOp::Binary(chadwick_core::BinaryOp::Add, total.prim());
            total = self.operation(op, &[total, element.number()?])?;
        }
        let ones = R::hcat(&vec![R::one(1); elements.len()], 1);
        let mut map = R::compose(&ones, &all);
        if let Atom::Var(var) = start
            && let Some(own) = scope.maps.get(var)
        {
            map = R::sum(&map, own);
        }
        Ok((vec![Value::Number(total)], Some(map)))
    }

    fn repeat<R: Representation>(&mut self, repeat: &Repeat, scope: &Scope<R>) -> Result<Pair<R>, String> {
        let LoopForm::For { index, bound } = &repeat.parts.form else { return Err(String::from("a loop with a condition")) };
        if !repeat.parts.emits.is_empty() {
            return Err(String::from("a loop that emits"));
        }
        let count = self.atom(bound, scope)?.integer()?;
        let mut state =
            repeat.parts.initial.iter().map(|initial| self.atom(initial, scope)).collect::<Result<Vec<Value>, String>>()?;
        let mut maps = Vec::new();
        for (map, value) in repeat.initial.iter().zip(&state) {
            maps.push(self.map(map, scope, self.inputs, &[value.size()])?);
        }
        for at in 0..count {
            let mut inner = scope.clone();
            inner.values.insert(index.var, Value::Number(Const::I64(at)));
            for ((binder, value), map) in repeat.parts.carry.iter().zip(&state).zip(&maps) {
                inner.values.insert(binder.var, value.clone());
                inner.maps.insert(binder.var, map.clone());
            }
            let (values, map) = self.block(&repeat.body, &mut inner)?;
            let total: usize = values.iter().map(Value::size).sum();
            let mut start = 0;
            maps.clear();
            for value in &values {
                maps.push(R::compose(&part(total, start, value.size()), &map));
                start += value.size();
            }
            state = values;
        }
        Ok((state, R::vcat(&maps, self.inputs)))
    }

    fn call<R: Representation>(
        &mut self,
        function: FunctionId,
        args: &[Atom],
        derivative: &Map,
        inputs: &Map,
        scope: &Scope<R>,
    ) -> Result<Pair<R>, String> {
        let values = args.iter().map(|arg| self.atom(arg, scope)).collect::<Result<Vec<Value>, String>>()?;
        let Map::Derivative { active, .. } = derivative else { return Err(String::from("no derivative")) };
        // The arguments without a derivative have the map zero.
        let sizes: Vec<usize> = values.iter().zip(active).filter(|(_, active)| **active).map(|(value, _)| value.size()).collect();
        let given = self.map(inputs, scope, self.inputs, &sizes)?;
        let (mut maps, mut start) = (Vec::new(), 0);
        for (value, active) in values.iter().zip(active) {
            maps.push(match active {
                false => R::zero(value.size(), self.inputs),
                true => R::compose(&part(given.outputs(), start, value.size()), &given),
            });
            start += if *active { value.size() } else { 0 };
        }
        let before = R::vcat(&maps, self.inputs);
        match self.tupling {
            Tupling::Polymorphic => self.function(function, &values, &before),
            Tupling::Basic => {
                let outer = std::mem::replace(&mut self.inputs, before.outputs());
                let result = self.function(function, &values, &R::one(before.outputs()));
                self.inputs = outer;
                let (results, own) = result?;
                Ok((results, R::compose(&own, &before)))
            }
        }
    }

    /// The value of a map from `inputs` numbers to values of these sizes.
    fn map<R: Representation>(&mut self, map: &Map, scope: &Scope<R>, inputs: usize, sizes: &[usize]) -> Result<R, String> {
        let outputs: usize = sizes.iter().sum();
        Ok(match map {
            Map::Zero => R::zero(outputs, inputs),
            Map::One => R::one(inputs),
            Map::Of(var) => scope.maps.get(var).cloned().unwrap_or_else(|| R::zero(outputs, inputs)),
            Map::Scale(factor) => R::scale(self.factor(factor, scope)?, inputs),
            Map::Convert { .. } => R::one(inputs),
            Map::Compose(last, first) => {
                // What is between is known from the first map, except for a zero, where it does not matter.
                let between = self.target(first, scope, inputs).unwrap_or_else(|| vec![1]);
                let first = self.map(first, scope, inputs, &between)?;
                R::compose(&self.map(last, scope, first.outputs(), sizes)?, &first)
            }
            Map::Sum(maps) => {
                let mut sum = R::zero(outputs, inputs);
                for map in maps {
                    sum = R::sum(&sum, &self.map(map, scope, inputs, sizes)?);
                }
                sum
            }
            Map::VCat(maps) => {
                let mut parts = Vec::new();
                for (map, size) in maps.iter().zip(sizes) {
                    parts.push(self.map(map, scope, inputs, std::slice::from_ref(size))?);
                }
                R::vcat(&parts, inputs)
            }
            // The arguments of a scalar operation are numbers.
            Map::HCat(maps) => {
                let each = inputs / maps.len().max(1);
                let mut parts = Vec::new();
                for map in maps {
                    parts.push(self.map(map, scope, each, sizes)?);
                }
                R::hcat(&parts, outputs)
            }
            Map::OneHot { array, indices } => {
                let mut whole = self.atom(array, scope)?;
                let mut start = 0;
                for index in indices {
                    let at = self.atom(index, scope)?.integer()?;
                    let Value::Array(elements) = whole else { return Err(String::from("no array")) };
                    let at = usize::try_from(at).map_err(|error| error.to_string())?;
                    start += elements.iter().take(at).map(Value::size).sum::<usize>();
                    whole = elements.into_iter().nth(at).ok_or("an index out of bounds")?;
                }
                part(inputs, start, whole.size())
            }
            // The elements of a literal stand one behind the other, as the numbers of its operands do.
            Map::Linear(op) if matches!(**op, Op::ArrayLiteral { .. }) => R::one(inputs),
            Map::Transpose(map) => self.map(map, scope, outputs, &[inputs])?.transpose(),
            _ => return Err(String::from("a form that is not traced")),
        })
    }

    /// The sizes of what a map gives.
    fn target<R: Representation>(&mut self, map: &Map, scope: &Scope<R>, inputs: usize) -> Option<Vec<usize>> {
        match map {
            Map::Of(var) => scope.values.get(var).map(|value| vec![value.size()]),
            Map::VCat(maps) => {
                let sizes = maps.iter().map(|map| Some(self.target(map, scope, inputs)?.iter().sum()));
                sizes.collect::<Option<Vec<usize>>>()
            }
            Map::Compose(last, first) => {
                let between = self.target(first, scope, inputs)?.iter().sum();
                self.target(last, scope, between)
            }
            Map::Sum(maps) => maps.iter().find_map(|map| self.target(map, scope, inputs)),
            Map::One | Map::Scale(_) | Map::Convert { .. } => Some(vec![inputs]),
            // Whatever is not active is a number here: arrays without a derivative are not operands of what is.
            Map::Zero => Some(vec![1]),
            _ => None,
        }
    }

    fn factor<R>(&mut self, factor: &Factor, scope: &Scope<R>) -> Result<f64, String> {
        Ok(match factor {
            Factor::Atom(atom) => as_f64(self.atom(atom, scope)?.number()?),
            Factor::Product(left, right) => self.factor(left, scope)? * self.factor(right, scope)?,
            Factor::Sum(left, right) => self.factor(left, scope)? + self.factor(right, scope)?,
            Factor::Partial { partial, operands, result, .. } => {
                let before = self.operations;
                let value = self.partial(partial, operands, result, scope)?;
                self.operations = before;
                as_f64(value)
            }
        })
    }

    fn partial<R>(&mut self, partial: &Partial, operands: &[Atom], result: &Atom, scope: &Scope<R>) -> Result<Const, String> {
        match partial {
            Partial::Operand(at) => self.atom(operands.get(*at).ok_or("an operand")?, scope)?.number(),
            Partial::Result => self.atom(result, scope)?.number(),
            Partial::Constant(constant) => Ok(*constant),
            Partial::Apply(op, parts) => {
                let args = parts
                    .iter()
                    .map(|part| self.partial(part, operands, result, scope))
                    .collect::<Result<Vec<Const>, String>>()?;
                self.operation(*op, &args)
            }
            Partial::Select(parts) => {
                let [condition, then, otherwise] = &**parts;
                let holds = matches!(self.partial(condition, operands, result, scope)?, Const::Bool(true));
                self.partial(if holds { then } else { otherwise }, operands, result, scope)
            }
        }
    }

    fn operation(&mut self, op: PrimOp, args: &[Const]) -> Result<Const, String> {
        self.operations += 1;
        eval(op, args).map_err(|error| format!("{error:?}"))
    }

    // ----------------------------------------------------------------------------------------------------- values without maps

    fn atom<R>(&self, atom: &Atom, scope: &Scope<R>) -> Result<Value, String> {
        match atom {
            Atom::Const(constant) => Ok(Value::Number(*constant)),
            Atom::Var(var) => scope.values.get(var).cloned().ok_or_else(|| format!("no value of {}", self.context.name(*var))),
        }
    }

    fn plain<R: Clone>(&mut self, block: &Block, scope: &mut Scope<R>) -> Result<Vec<Value>, String> {
        for statement in &block.statements {
            let values = self.statement(statement, scope)?;
            statement.binders.iter().zip(values).for_each(|(binder, value)| {
                scope.values.insert(binder.var, value);
            });
        }
        block.results.iter().map(|result| self.atom(result, scope)).collect()
    }

    /// What a statement without nested maps binds.
    fn statement<R: Clone>(&mut self, statement: &Statement, scope: &Scope<R>) -> Result<Vec<Value>, String> {
        match &statement.op {
            Op::Copy(atoms) => atoms.iter().map(|atom| self.atom(atom, scope)).collect(),
            Op::Prim(op, args) => {
                let args = args.iter().map(|arg| self.atom(arg, scope)?.number()).collect::<Result<Vec<Const>, String>>()?;
                Ok(vec![Value::Number(self.operation(*op, &args)?)])
            }
            Op::Index { array, indices } => {
                let mut value = self.atom(array, scope)?;
                for index in indices {
                    let at = usize::try_from(self.atom(index, scope)?.integer()?).map_err(|error| error.to_string())?;
                    let Value::Array(elements) = value else { return Err(String::from("no array")) };
                    value = elements.into_iter().nth(at).ok_or("an index out of bounds")?;
                }
                Ok(vec![value])
            }
            Op::Dim { array, axis: 0 } => match self.atom(array, scope)? {
                Value::Array(elements) => Ok(vec![Value::Number(Const::I64(elements.len() as i64))]),
                Value::Number(_) => Err(String::from("no array")),
            },
            Op::ArrayLiteral { elements, .. } => {
                let elements =
                    elements.iter().map(|element| self.atom(element, scope)).collect::<Result<Vec<Value>, String>>()?;
                Ok(vec![Value::Array(elements)])
            }
            Op::Build { space, body, .. } => {
                let [axis] = space.as_slice() else { return Err(String::from("a space of several axes")) };
                let mut columns = vec![Vec::new(); body.results.len()];
                for at in 0..self.atom(&axis.size, scope)?.integer()? {
                    let mut inner = scope.clone();
                    inner.values.insert(axis.var, Value::Number(Const::I64(at)));
                    let values = self.plain(body, &mut inner)?;
                    columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
                }
                Ok(columns.into_iter().map(Value::Array).collect())
            }
            Op::If { condition, then, otherwise } => {
                let holds = matches!(self.atom(condition, scope)?, Value::Number(Const::Bool(true)));
                self.plain(if holds { then } else { otherwise }, &mut scope.clone())
            }
            Op::Assert { .. } => Ok(Vec::new()),
            _ => Err(String::from("a form that is not traced")),
        }
    }
}

/// The map that picks `size` numbers from `start` of `inputs`: a one-hot row of blocks.
fn part<R: Representation>(inputs: usize, start: usize, size: usize) -> R {
    if start == 0 && size == inputs {
        return R::one(size);
    }
    let blocks = [R::zero(size, start), R::one(size), R::zero(size, inputs.saturating_sub(start + size))];
    R::hcat(&blocks, size)
}
