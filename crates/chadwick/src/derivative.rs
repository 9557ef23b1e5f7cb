//! Derivatives of entry points: gradients, pullbacks, forward mode.
//!
//! A function is differentiated by some of its arguments: those that [`Function::wrt`] names, or else all that are floats. Cotangents and
//! tangents of arguments always come in the order of the arguments, one for each of those.

use crate::error::{Error, Result, listed};
use crate::function::{Function, is_float, slots, to_core};
use crate::values::Value;
use chadwick_core::{Atom, Binder, Builder, Differentiate, Function as CoreFunction, FunctionId, Mode, Op, Type};
use chadwick_interp::{self as interp, Interpreter};
use chadwick_source::Span;
use std::cell::RefCell;
use std::rc::Rc;

/// The gradient of a function whose result is one number; see [`Function::gradient`].
#[derive(Clone)]
pub struct Gradient {
    function: Function,
}

/// A function at certain arguments, ready for any number of cotangents; see [`Function::pullback`].
pub struct Pullback {
    function: Function,
    recorded: interp::Pullback,
    results: Vec<Value>,
}

/// A function that runs an entry point in forward mode.
pub(crate) struct Forward {
    interpreter: RefCell<Interpreter>,
    function: FunctionId,
}

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
        let args = self.arguments(args)?;
        let function = self.core_entry().function;
        let run = self.program.inner.interpreter.borrow_mut().pullback(function, args, &wrt);
        let (results, recorded) = run.map_err(|error| self.program.runtime_error(error))?;
        let results = self.results_to_data(results)?;
        Ok((results.clone(), Pullback { function: self.clone(), recorded, results }))
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
        let mut all = self.arguments(args)?;
        all.extend(self.seeds("tangent", &by, &self.wrt_names()?, tangents)?);
        let forward = self.forward(wrt)?;
        let mut interpreter = forward.interpreter.borrow_mut();
        interpreter.set_limits(self.program.inner.limits.get());
        let results = interpreter.call(forward.function, all).map_err(|error| self.program.runtime_error(error))?;
        let mut results = self.results_to_data(results)?;
        let tangents = results.split_off(results.len() / 2);
        Ok((results, tangents))
    }

    /// Checks that seeds have the types and shapes of what they belong to.
    fn seeds(&self, word: &str, primals: &[Value], names: &[String], seeds: &[Value]) -> Result<Vec<interp::Value>> {
        if primals.len() != seeds.len() {
            let message = format!("`{}` needs {} {word}s here, but {} were given", self.name(), primals.len(), seeds.len());
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

    /// The function in forward mode: arguments, then tangents of those in `wrt`, to results and their tangents.
    fn forward(&self, wrt: Vec<usize>) -> Result<Rc<Forward>> {
        let key = (self.entry, wrt);
        if let Some(known) = self.program.inner.forward.borrow().get(&key) {
            return Ok(Rc::clone(known));
        }
        let mut program = (*self.program.inner.core).clone();
        let callee = self.core_entry().function;
        let malformed = || Error::argument(format!("`{}` has no forward derivative", self.name()));
        let original = program.functions.get(callee.0 as usize).ok_or_else(malformed)?;
        let (name, span, results) = (original.name.clone(), original.span, original.results.clone());
        let types: Vec<Type> = original.params.iter().map(|param| param.ty.clone()).collect();
        let mut builder = Builder::new(&mut program);
        let mut params: Vec<Binder> = types.iter().map(|ty| builder.param("x", ty.clone())).collect();
        let tangents: Vec<Binder> =
            key.1.iter().filter_map(|at| types.get(*at)).map(|ty| builder.param("x_tan", ty.clone())).collect();
        let outer: Vec<Atom> = params.iter().map(|param| Atom::Var(param.var)).collect();
        let active = key.1.iter().filter_map(|at| types.get(*at)).map(|ty| ("x".into(), ty.clone()));
        let active: Vec<_> = active.collect();
        let call_results = results.clone();
        let lambda = builder.lambda(active, |builder, atoms| {
            let mut args = outer.clone();
            for (at, atom) in key.1.iter().zip(atoms) {
                args[*at] = atom.clone();
            }
            builder.push(Op::Call { function: callee, args }, call_results, Span::default())
        });
        let lambda = lambda.map_err(|_| malformed())?;
        let twice: Vec<Type> = results.iter().chain(&results).cloned().collect();
        let body_types = twice.clone();
        let body = builder.block(|builder| {
            let differentiate = Differentiate {
                mode: Mode::Jvp,
                with_primal: true,
                function: lambda,
                args: key.1.iter().filter_map(|at| outer.get(*at).cloned()).collect(),
                seeds: tangents.iter().map(|tangent| Atom::Var(tangent.var)).collect(),
                count: None,
                unroll: false,
            };
            builder.push(Op::Differentiate(Box::new(differentiate)), body_types, span)
        });
        params.extend(tangents);
        let function = FunctionId(program.functions.len() as u32);
        program.functions.push(CoreFunction { name, params, results: twice, body, span });
        let interpreter = RefCell::new(Interpreter::new(Rc::new(program), self.program.inner.limits.get()));
        let forward = Rc::new(Forward { interpreter, function });
        self.program.inner.forward.borrow_mut().insert(key, Rc::clone(&forward));
        Ok(forward)
    }
}

impl Gradient {
    /// The derivative of the result by each argument in [`Function::wrt_arguments`].
    pub fn call(&self, args: &[Value]) -> Result<Vec<Value>> {
        self.value_and_gradient(args).map(|(_, gradient)| gradient)
    }

    /// The result, too.
    pub fn value_and_gradient(&self, args: &[Value]) -> Result<(Value, Vec<Value>)> {
        let (mut values, pullback) = self.function.pullback(args)?;
        let Some(value) = values.pop() else { return Err(Error::argument("a function without a result has no gradient")) };
        let one = crate::values::one(value.prim());
        Ok((value, pullback.call(&[one])?))
    }

    /// What to call each part of the gradient.
    pub fn names(&self) -> Result<Vec<String>> {
        self.function.wrt_names()
    }
}

impl Pullback {
    /// The cotangents of the arguments for cotangents of the results, one for each result and of its type and shape.
    pub fn call(&self, cotangents: &[Value]) -> Result<Vec<Value>> {
        let cotangents = self.function.seeds("cotangent", &self.results, &[], cotangents)?;
        let program = &self.function.program;
        let pulled = program.inner.interpreter.borrow_mut().pull(&self.recorded, &cotangents);
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
