//! Derivatives of entry points: gradients, pullbacks, forward mode.
//!
//! A function is differentiated by some of its arguments: those that [`Function::wrt`] names, or else all that are floats. Cotangents and
//! tangents of arguments always come in the order of the arguments, one for each of those.

use crate::error::{Error, Result, listed};
use crate::function::{Function, counted, is_float, slots, to_core, type_string};
use crate::values::Value;
use chadwick_core::{
    Atom, Binder, Builder, Const, Differentiate, Entry, EntryValue, Function as CoreFunction, FunctionId, Mode, Op, Prim,
    Program, Type,
};
use chadwick_interp as interp;
use chadwick_source::{Diagnostic, Severity};
use std::sync::Arc;
use std::time::Duration;

/// The gradient of a function whose result is one number; see [`Function::gradient`].
#[derive(Clone)]
pub struct Gradient {
    function: Function,
}

/// A function at certain arguments, ready for any number of cotangents; see [`Function::pullback`].
pub struct Pullback {
    function: Function,
    run: Run,
    results: Vec<Value>,
}

/// What a pullback has of its run.
enum Run {
    /// What the interpreter recorded.
    Recorded(interp::Pullback),
    /// The compiled function that computes results and cotangents, and the arguments.
    Compiled(Function, Vec<Value>),
}

/// An entry point, the arguments by which it is differentiated, and how.
pub(crate) type DerivativeKey = (usize, Vec<usize>, Mode);

impl Function {
    /// The same function, to be differentiated only by the parameters with these names. A parameter without a name goes by its number.
    ///
    /// ```
    /// # use chadwick::{Program, Value};
    /// let program = Program::from_source("entry f (x: f64) (y: f64) = x * y * y")?;
    /// let f = program.function("f")?.wrt(&["y"])?;
    /// assert_eq!(f.gradient()?.call(&[2.0.into(), 3.0.into()])?, [Value::from(12.0)]);
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn wrt(&self, names: &[impl AsRef<str>]) -> Result<Function> {
        let entry = self.core_entry();
        let mut chosen = Vec::new();
        for name in names {
            let name = name.as_ref();
            // One component of a tuple or record, by the name that results have.
            let component = self.argument_names().iter().position(|known| known == name);
            if let Some(at) = component.filter(|at| slots(&entry.params).get(*at).is_some_and(|(_, _, ty)| is_float(ty))) {
                chosen.push(at);
                continue;
            }
            let named = entry.params.iter().position(|param| param.name == name);
            let Some(param) = named.or_else(|| name.parse().ok().filter(|number| *number < entry.params.len())) else {
                let known: Vec<String> = (0..entry.params.len()).map(|number| self.parameter_name(number)).collect();
                let known = listed(&known);
                return Err(Error::argument(format!("`{}` has no parameter `{name}`; it has {known}", entry.name)));
            };
            let before: usize = entry.params[..param].iter().map(|param| param.types.len()).sum();
            let floats = entry.params[param].types.iter().enumerate().filter(|(_, ty)| is_float(ty)).map(|(at, _)| before + at);
            let floats: Vec<usize> = floats.collect();
            if floats.is_empty() {
                let ty = &entry.params[param].source_type;
                let message = format!("parameter `{name}` of `{}` has type {ty}, which has no derivative", entry.name);
                return Err(Error::argument(message));
            }
            chosen.extend(floats);
        }
        chosen.sort_unstable();
        chosen.dedup();
        Ok(Function { wrt: Some(chosen), ..self.clone() })
    }

    fn parameter_name(&self, number: usize) -> String {
        match self.core_entry().params.get(number).map(|param| param.name.as_str()) {
            None | Some("") => number.to_string(),
            Some(name) => name.to_owned(),
        }
    }

    /// The numbers of the arguments by which the function is differentiated.
    pub fn wrt_arguments(&self) -> Result<Vec<usize>> {
        if let Some(wrt) = &self.wrt {
            return Ok(wrt.clone());
        }
        let entry = self.core_entry();
        let floats = slots(&entry.params).into_iter().enumerate().filter(|(_, (_, _, ty))| is_float(ty));
        let floats: Vec<usize> = floats.map(|(at, _)| at).collect();
        match floats.is_empty() {
            true => Err(Error::argument(format!("`{}` has no float parameter to differentiate by", entry.name))),
            false => Ok(floats),
        }
    }

    /// What to call the arguments by which the function is differentiated: `x`, or `x.0` for a component.
    pub fn wrt_names(&self) -> Result<Vec<String>> {
        let names = self.argument_names();
        let wrt = self.wrt_arguments()?;
        Ok(wrt.into_iter().filter_map(|at| names.get(at).cloned()).collect())
    }

    /// The gradient, for a function whose result is one float.
    ///
    /// ```
    /// # use chadwick::{Program, Value};
    /// let program = Program::from_source("entry loss [n] (xs: [n]f64) = f64.sum (map (\\x -> x * x) xs)")?;
    /// let gradient = program.function("loss")?.gradient()?;
    /// assert_eq!(gradient.call(&[vec![1.0, 2.0].into()])?, [Value::from(vec![2.0, 4.0])]);
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn gradient(&self) -> Result<Gradient> {
        self.wrt_arguments()?;
        let entry = self.core_entry();
        match slots(&entry.results).as_slice() {
            [(_, _, Type::Prim(prim))] if prim.is_float() => Ok(Gradient { function: self.clone() }),
            _ => {
                let types: Vec<&str> = entry.results.iter().map(|result| result.source_type.as_str()).collect();
                let message = format!(
                    "`{}` gives {}; only a function that gives one float has a gradient",
                    entry.name,
                    match types.as_slice() {
                        [one] => (*one).to_owned(),
                        many => format!("({})", many.join(", ")),
                    }
                );
                Err(Error::argument(message))
            }
        }
    }

    /// What is to be said about the derivative of this function, beside the warnings of the program.
    pub fn derivative_warnings(&self) -> Result<Vec<Diagnostic>> {
        let lowered = self.lowered_with_derivative(&self.wrt_arguments()?, Mode::Vjp)?;
        let known = self.program.warnings();
        let is_new = |it: &Diagnostic| it.severity == Severity::Warning && !known.contains(it);
        Ok(chadwick_ad::check_derivatives(&lowered).into_iter().filter(is_new).collect())
    }

    /// The result and the gradient from one run.
    ///
    /// ```
    /// # use chadwick::{Program, Value};
    /// let program = Program::from_source("entry f (x: f64) (y: f64) = f64.exp x * y")?;
    /// let (value, gradient) = program.function("f")?.value_and_gradient(&[0.0.into(), 3.0.into()])?;
    /// assert_eq!(value, Value::from(3.0));
    /// assert_eq!(gradient, [Value::from(3.0), Value::from(1.0)]);
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn value_and_gradient(&self, args: &[Value]) -> Result<(Value, Vec<Value>)> {
        self.gradient()?.value_and_gradient(args)
    }

    /// Runs the function once in reverse mode. The pullback can be called any number of times, and each call stands for itself.
    ///
    /// ```
    /// # use chadwick::{Program, Value};
    /// let program = Program::from_source("entry f (x: f64) (y: f64) = (x * y, x + y)")?;
    /// let (values, pullback) = program.function("f")?.pullback(&[2.0.into(), 3.0.into()])?;
    /// assert_eq!(values, [Value::from(6.0), Value::from(5.0)]);
    /// assert_eq!(pullback.call(&[1.0.into(), 0.0.into()])?, [Value::from(3.0), Value::from(2.0)]);
    /// assert_eq!(pullback.call(&[0.0.into(), 1.0.into()])?, [Value::from(1.0), Value::from(1.0)]);
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn pullback(&self, args: &[Value]) -> Result<(Vec<Value>, Pullback)> {
        let wrt = self.wrt_arguments()?;
        if self.program.is_compiled() {
            let compiled = self.derivative(wrt, Mode::Vjp)?;
            let results = self.call(args)?;
            let run = Run::Compiled(compiled, args.to_vec());
            return Ok((results.clone(), Pullback { function: self.clone(), run, results }));
        }
        let args = self.arguments(&args.iter().collect::<Vec<_>>())?;
        let function = self.core_entry().function;
        let run = self.program.inner.interpreter.borrow_mut().pullback(function, args, &wrt);
        let (results, recorded) = run.map_err(|error| self.program.runtime_error(error))?;
        let results = self.results_to_data(results)?;
        Ok((results.clone(), Pullback { function: self.clone(), run: Run::Recorded(recorded), results }))
    }

    /// Results, and the cotangents of the arguments for cotangents of the results.
    pub fn vjp(&self, args: &[Value], cotangents: &[Value]) -> Result<(Vec<Value>, Vec<Value>)> {
        let (results, pullback) = self.pullback(args)?;
        Ok((results, pullback.call(cotangents)?))
    }

    /// Results, and their tangents for tangents of the arguments, in forward mode.
    ///
    /// ```
    /// # use chadwick::{Program, Value};
    /// let program = Program::from_source("entry f (x: f64) (n: i64) = x ** f64.i64 n")?;
    /// let (values, tangents) = program.function("f")?.jvp(&[3.0.into(), 2i64.into()], &[1.0.into()])?;
    /// assert_eq!((values, tangents), (vec![Value::from(9.0)], vec![Value::from(6.0)]));
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn jvp(&self, args: &[Value], tangents: &[Value]) -> Result<(Vec<Value>, Vec<Value>)> {
        let wrt = self.wrt_arguments()?;
        let by: Vec<Value> = wrt.iter().filter_map(|at| args.get(*at).cloned()).collect();
        self.seeds("tangent", &by, &self.wrt_names()?, tangents)?;
        let all: Vec<&Value> = args.iter().chain(tangents).collect();
        let mut results = self.derivative(wrt, Mode::Jvp)?.call_with(&all)?;
        let tangents = results.split_off(results.len() / 2);
        Ok((results, tangents))
    }

    /// Checks that seeds have the types and shapes of what they belong to.
    fn seeds(&self, word: &str, primals: &[Value], names: &[String], seeds: &[Value]) -> Result<Vec<interp::Value>> {
        if primals.len() != seeds.len() {
            let plural = if primals.len() == 1 { "" } else { "s" };
            let given = counted(seeds.len());
            let message = format!("`{}` needs {} {word}{plural} here, but {given} given", self.name(), primals.len());
            return Err(Error::argument(message));
        }
        let mut checked = Vec::with_capacity(seeds.len());
        for (number, (primal, seed)) in primals.iter().zip(seeds).enumerate() {
            if (primal.prim(), primal.shape()) != (seed.prim(), seed.shape()) {
                let name = names.get(number).map_or_else(String::new, |name| format!(" of `{name}`"));
                let (wanted, given) = (primal.type_string(), seed.type_string());
                return Err(Error::argument(format!(
                    "the {word}{name} must have type {wanted}, but one of type {given} was given"
                )));
            }
            checked.push(to_core(seed.clone())?);
        }
        Ok(checked)
    }

    /// The function with its derivative, compiled as the program is: arguments, then tangents of those in `wrt` or cotangents of the
    /// results, to results and then tangents of them or cotangents of those in `wrt`.
    fn derivative(&self, wrt: Vec<usize>, mode: Mode) -> Result<Function> {
        let key = (self.entry, wrt, mode);
        let known = self.program.inner.derivatives.borrow().get(&key).cloned();
        let program = match known {
            Some(program) => program,
            None => {
                let (_, wrt, mode) = &key;
                let program = self.program.compiled_like(self.lowered_with_derivative(wrt, *mode)?)?;
                self.program.inner.derivatives.borrow_mut().insert(key, program.clone());
                program
            }
        };
        program.set_limits(self.program.inner.limits.get());
        program.inner.may_be_interpreted.set(self.program.inner.may_be_interpreted.get());
        Ok(Function { program, entry: 0, wrt: None })
    }

    /// The lowered program with one entry point: this function and its derivative by the arguments `wrt`.
    pub(crate) fn lowered_with_derivative(&self, wrt: &[usize], mode: Mode) -> Result<Program> {
        let mut lowered = (*self.program.inner.lowered).clone();
        lowered.entries = vec![self.add_derivative(&mut lowered, wrt, mode, None)?];
        Ok(lowered)
    }

    /// A new entry point that gives the results of this function and its derivative; see [`derivative_entry`]. What makes a derivative in the program
    /// an error makes this one an error, too.
    pub(crate) fn add_derivative(
        &self,
        lowered: &mut Program,
        wrt: &[usize],
        mode: Mode,
        constant_seeds: Option<Vec<Atom>>,
    ) -> Result<Entry> {
        let entry = derivative_entry(lowered, self.entry, wrt, mode, constant_seeds)
            .ok_or_else(|| Error::argument(format!("`{}` has no derivative of this kind", self.name())))?;
        let said = chadwick_ad::check_derivatives(lowered);
        match said.iter().any(|it| it.severity == Severity::Error) {
            true => Err(Error::compile(said, Arc::clone(&self.program.inner.map))),
            false => Ok(entry),
        }
    }
}

/// A new entry point that gives the results of `entry` and its derivative. Without constant `seeds` it takes them behind its arguments.
fn derivative_entry(
    program: &mut Program,
    entry: usize,
    wrt: &[usize],
    mode: Mode,
    constant_seeds: Option<Vec<Atom>>,
) -> Option<Entry> {
    let entry = program.entries.get(entry)?.clone();
    let callee = entry.function;
    let original = program.functions.get(callee.0 as usize)?;
    let (name, span, results) = (original.name.clone(), original.span, original.results.clone());
    let names: Vec<_> = original.params.iter().map(|param| program.var_names[param.var.0 as usize].clone()).collect();
    let types: Vec<Type> = original.params.iter().map(|param| param.ty.clone()).collect();
    let by: Vec<Type> = wrt.iter().map(|at| types.get(*at).cloned()).collect::<Option<_>>()?;
    // An entry point takes one seed.
    let (seed_types, derivative_types) = match mode {
        Mode::Jvp => (&by, &results),
        Mode::Vjp => (&results, &by),
        Mode::Jmp | Mode::Mjp | Mode::Dependencies => return None,
    };
    let all_results: Vec<Type> = results.iter().chain(derivative_types).cloned().collect();
    let value = |name: &str, ty: &Type| EntryValue {
        name: name.into(),
        source_type: type_string(ty),
        types: vec![ty.clone()],
        paths: vec!["".into()],
    };
    let seed_types = if constant_seeds.is_some() { &Vec::new() } else { seed_types };
    let params = entry.params.iter().cloned().chain(seed_types.iter().map(|ty| value("seed", ty)));
    let given = entry.results.iter().cloned().chain(derivative_types.iter().map(|ty| value("", ty)));
    let (entry_params, entry_results) = (params.collect(), given.collect());

    let mut builder = Builder::new(program);
    let mut params: Vec<Binder> = names.iter().zip(&types).map(|(name, ty)| builder.param(name.clone(), ty.clone())).collect();
    let seeds: Vec<Binder> = seed_types.iter().map(|ty| builder.param("seed", ty.clone())).collect();
    let outer: Vec<Atom> = params.iter().map(|param| Atom::Var(param.var)).collect();
    let active: Vec<_> = wrt.iter().zip(&by).map(|(at, ty)| (names[*at].clone(), ty.clone())).collect();
    let call_results = results.clone();
    let lambda = builder.lambda(active, |builder, atoms| {
        let mut args = outer.clone();
        for (at, atom) in wrt.iter().zip(atoms) {
            args[*at] = atom.clone();
        }
        builder.push(Op::Call { function: callee, args }, call_results, span)
    });
    let differentiate = Differentiate {
        mode,
        with_primal: true,
        function: lambda.ok()?,
        args: wrt.iter().map(|at| outer[*at].clone()).collect(),
        seeds: constant_seeds.unwrap_or_else(|| seeds.iter().map(|seed| Atom::Var(seed.var)).collect()),
        count: None,
        unroll: false,
    };
    let body_types = all_results.clone();
    let body = builder.block(|builder| builder.push(Op::Differentiate(Box::new(differentiate)), body_types, span));
    params.extend(seeds);
    let function = FunctionId(program.functions.len() as u32);
    program.functions.push(CoreFunction { name, params, results: all_results, body, span });
    Some(Entry { name: entry.name, function, params: entry_params, results: entry_results })
}

/// The cotangent of a result that is one float: one.
pub(crate) fn gradient_seed(function: &Function) -> Atom {
    let prim = function.result_types().and_then(|types| types.first().map(|ty| ty.prim));
    Atom::Const(match prim {
        Some(Prim::F16) => Const::F16(half::f16::ONE),
        Some(Prim::F32) => Const::F32(1.0),
        _ => Const::F64(1.0),
    })
}

impl Gradient {
    /// Compiles the code now, and not when the gradient is first called.
    pub fn prepare(&self) -> Result<()> {
        match self.function.program.is_compiled() {
            true => self.function.derivative(self.function.wrt_arguments()?, Mode::Vjp)?.program.prepare(),
            false => self.function.program.prepare(),
        }
    }

    /// The derivative of the result by each argument in [`Function::wrt_arguments`].
    pub fn call(&self, args: &[Value]) -> Result<Vec<Value>> {
        self.value_and_gradient(args).map(|(_, gradient)| gradient)
    }

    /// The result, too.
    pub fn value_and_gradient(&self, args: &[Value]) -> Result<(Value, Vec<Value>)> {
        let function = &self.function;
        if function.program.is_compiled() {
            let Some([ty]) = function.result_types().as_deref().map(|types| [types[0]]) else {
                return Err(Error::argument("a function without a result has no gradient"));
            };
            let one = crate::values::one(ty.prim);
            let seeded: Vec<&Value> = args.iter().chain([&one]).collect();
            let mut values = function.derivative(function.wrt_arguments()?, Mode::Vjp)?.call_with(&seeded)?;
            let gradient = values.split_off(1);
            return Ok((values.swap_remove(0), gradient));
        }
        let (mut values, pullback) = self.function.pullback(args)?;
        let Some(value) = values.pop() else { return Err(Error::argument("a function without a result has no gradient")) };
        let one = crate::values::one(value.prim());
        Ok((value, pullback.call(&[one])?))
    }

    /// Value and gradient again and again on the same arguments until `again` says no. It hears how long each took, as in
    /// [`Function::call_repeatedly`]. The results are those of the last time, the number is the most bytes that values took up then.
    ///
    /// ```
    /// # use chadwick::{Program, Value};
    /// let program = Program::from_source("entry f (x: f64) = x * x")?;
    /// let mut count = 0;
    /// let (values, _peak) = program.function("f")?.gradient()?.call_repeatedly(&[3.0.into()], |_time| {
    ///     count += 1;
    ///     count < 4
    /// })?;
    /// assert_eq!((values, count), (vec![Value::from(9.0), Value::from(6.0)], 4));
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn call_repeatedly(&self, args: &[Value], mut again: impl FnMut(Duration) -> bool) -> Result<(Vec<Value>, usize)> {
        self.call_in_batches(args, |time| usize::from(again(time)))
    }

    /// [`Gradient::call_repeatedly`] for calls that are too short for the clock, as [`Function::call_in_batches`].
    pub fn call_in_batches(&self, args: &[Value], mut next: impl FnMut(Duration) -> usize) -> Result<(Vec<Value>, usize)> {
        let function = &self.function;
        let program = &function.program;
        if program.is_compiled() {
            let types = function.result_types().unwrap_or_default();
            let seeds = types.iter().map(|ty| crate::values::one(ty.prim));
            let seeded: Vec<Value> = args.iter().cloned().chain(seeds).collect();
            let derivative = function.derivative(function.wrt_arguments()?, Mode::Vjp)?;
            let values = derivative.call_in_batches(&seeded, next)?;
            return Ok((values, derivative.program.peak_memory()));
        }
        let (value, gradient) = program.in_batches(|| program.noting_peak(|| self.value_and_gradient(args)), &mut next)?;
        Ok((std::iter::once(value).chain(gradient).collect(), program.peak_memory()))
    }

    /// What to call each part of the gradient.
    pub fn names(&self) -> Result<Vec<String>> {
        self.function.wrt_names()
    }
}

impl Pullback {
    /// The cotangents of the arguments for cotangents of the results, one for each result and of its type and shape.
    pub fn call(&self, cotangents: &[Value]) -> Result<Vec<Value>> {
        let seeds = self.function.seeds("cotangent", &self.results, &[], cotangents)?;
        let program = &self.function.program;
        let recorded = match &self.run {
            Run::Recorded(recorded) => recorded,
            Run::Compiled(compiled, args) => {
                let all: Vec<&Value> = args.iter().chain(cotangents).collect();
                return Ok(compiled.call_with(&all)?.split_off(self.results.len()));
            }
        };
        let pulled = program.inner.interpreter.borrow_mut().pull(recorded, &seeds);
        let pulled = pulled.map_err(|error| program.runtime_error(error))?;
        let values = pulled.iter().map(|value| value.to_data().and_then(Value::from_data));
        values.collect::<Option<Vec<_>>>().ok_or_else(|| Error::argument("a cotangent that is no data"))
    }

    /// The results of the run.
    pub fn results(&self) -> &[Value] {
        &self.results
    }
}

/// A value of zeros but for one element.
pub(crate) fn one_hot(like: &Value, position: usize) -> Option<Value> {
    let zeros = Value::zeros(like.prim(), like.shape())?;
    let one = crate::values::one(like.prim()).elements().get(0)?;
    zeros.with_element(position, one)
}
