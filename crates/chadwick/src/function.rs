//! Entry points that can be called.

use crate::error::{Error, Result};
use crate::program::{EntryPoint, Program};
use crate::show;
use crate::values::{Value, ValueType};
use chadwick_core::{Dim, Element, Entry, EntryValue, Type};
use chadwick_interp as interp;
use chadwick_runtime::{Argument, NativeProgram, Output};
use std::cell::RefMut;
use std::time::Duration;

/// An entry point of a program.
#[derive(Clone)]
pub struct Function {
    pub(crate) program: Program,
    pub(crate) entry: usize,
    /// The arguments by which to differentiate; all floats if nothing is said.
    pub(crate) wrt: Option<Vec<usize>>,
}

impl Function {
    pub(crate) fn core_entry(&self) -> &Entry {
        &self.program.inner.core.entries[self.entry]
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    pub fn name(&self) -> &str {
        &self.core_entry().name
    }

    pub fn entry_point(&self) -> EntryPoint {
        EntryPoint::of(self.core_entry())
    }

    /// The types of the values that the function takes, in order; `None` where one is no data.
    pub fn argument_types(&self) -> Option<Vec<ValueType>> {
        value_types(&self.core_entry().params)
    }

    /// The names of the values that the function takes: `x`, or `x.0` and `x.field` for components of tuples and records; a number where
    /// there is no name.
    pub fn argument_names(&self) -> Vec<String> {
        slot_names(&self.core_entry().params)
    }

    /// The names of the values that the function gives: those of a record's fields, else numbers.
    pub fn result_names(&self) -> Vec<String> {
        slot_names(&self.core_entry().results)
    }

    /// The types of the values that the function gives.
    pub fn result_types(&self) -> Option<Vec<ValueType>> {
        value_types(&self.core_entry().results)
    }

    /// Calls the function. A tuple is passed, and given back, as its components.
    ///
    /// ```
    /// use chadwick::{Program, Value};
    /// let program = Program::from_source("entry scale [n] (a: f64) (xs: [n]f64) = map (a *) xs")?;
    /// let scale = program.function("scale")?;
    /// let result = scale.call(&[2.0.into(), vec![1.0, 2.0].into()])?;
    /// assert_eq!(result, [Value::from(vec![2.0, 4.0])]);
    ///
    /// let error = scale.call(&[2.0.into(), 3.0.into()]).unwrap_err();
    /// assert_eq!(error.message(), "parameter `xs` of `scale` has type [n]f64, but a value of type f64 was given");
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn call(&self, args: &[Value]) -> Result<Vec<Value>> {
        self.call_with(&args.iter().collect::<Vec<_>>())
    }

    /// Calls the function again and again on the same arguments until `again` says no. It hears how long each call took: in native code
    /// the execution alone, without checking arguments and copying results. The results are those of the last call.
    ///
    /// ```
    /// # use chadwick::Program;
    /// let program = Program::from_source("entry square (x: f64) = x * x")?;
    /// let mut times = Vec::new();
    /// let result = program.function("square")?.call_repeatedly(&[3.0.into()], |time| {
    ///     times.push(time);
    ///     times.len() < 5
    /// })?;
    /// assert_eq!((result, times.len()), (vec![9.0.into()], 5));
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn call_repeatedly(&self, args: &[Value], mut again: impl FnMut(Duration) -> bool) -> Result<Vec<Value>> {
        self.call_in_batches(args, |time| usize::from(again(time)))
    }

    /// [`Function::call_repeatedly`] for calls that are too short for the clock: it hears how long all calls since the last time took
    /// together (first, there is one), and says how many there should be before the next time; none is the end. That memory of the calls in
    /// between is given back is part of the time. Limits are those of one call.
    ///
    /// ```
    /// # use chadwick::Program;
    /// let program = Program::from_source("entry square (x: f64) = x * x")?;
    /// let mut batches = [100, 100, 0].into_iter();
    /// let result = program.function("square")?.call_in_batches(&[3.0.into()], |_time| batches.next().unwrap_or(0))?;
    /// assert_eq!(result, vec![9.0.into()]);
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn call_in_batches(&self, args: &[Value], mut next: impl FnMut(Duration) -> usize) -> Result<Vec<Value>> {
        let args: Vec<&Value> = args.iter().collect();
        if let Some(native) = self.native_for(&args)? {
            return self.outputs_to_data(self.call_native(native, &args, &mut next)?);
        }
        self.program.in_batches(|| self.call_core(&args), &mut next).and_then(|results| self.results_to_data(results))
    }

    /// [`Function::call`] with arguments from several places.
    pub(crate) fn call_with(&self, args: &[&Value]) -> Result<Vec<Value>> {
        match self.native_for(args)? {
            Some(native) => self.outputs_to_data(self.call_native(native, args, &mut |_| 0)?),
            None => self.results_to_data(self.call_core(args)?),
        }
    }

    fn outputs_to_data(&self, outputs: Vec<Output>) -> Result<Vec<Value>> {
        let mut results = Vec::new();
        for (number, output) in outputs.into_iter().enumerate() {
            let value = match output {
                Output::Data(data) => Value::from_data(data),
                Output::Value(_) => None,
            };
            results.push(value.ok_or_else(|| self.no_data(number))?);
        }
        Ok(results)
    }

    /// The native code, if that is what runs the function, ready to be called with these arguments.
    fn native_for(&self, args: &[&Value]) -> Result<Option<RefMut<'_, NativeProgram>>> {
        self.check_arguments(args)?;
        self.program.native()
    }

    fn call_native(
        &self,
        mut native: RefMut<'_, NativeProgram>,
        args: &[&Value],
        next: &mut dyn FnMut(Duration) -> usize,
    ) -> Result<Vec<Output>> {
        let passed: Option<Vec<Argument<'_>>> = args.iter().map(|arg| arg.as_argument()).collect();
        let passed = passed.ok_or_else(|| Error::argument("a value whose elements do not fit its shape"))?;
        let limits = self.program.inner.limits.get();
        let result = native.call_in_batches(self.entry, &passed, &limits, next);
        result.map_err(|error| self.program.runtime_error(error))
    }

    /// Calls the function and gives its results as text. Unlike [`Function::call`], it works for results of any type: constructors are
    /// shown by name.
    ///
    /// ```
    /// # use chadwick::Program;
    /// let program = Program::from_source("entry safe (x: i32) : #none | #some i32 = if x == 0 then #none else #some (10 / x)")?;
    /// assert_eq!(program.function("safe")?.call_to_text(&[5.into()])?, ["#some 2i32"]);
    /// # Ok::<(), chadwick::Error>(())
    /// ```
    pub fn call_to_text(&self, args: &[Value]) -> Result<Vec<String>> {
        let results = self.call_core(&args.iter().collect::<Vec<_>>())?;
        Ok(show::flat_results(self.program.core(), self.core_entry(), &results))
    }

    /// Calls the function and gives the results as the interpreter has them.
    pub(crate) fn call_core(&self, args: &[&Value]) -> Result<Vec<interp::Value>> {
        if let Some(native) = self.native_for(args)? {
            let values = self.call_native(native, args, &mut |_| 0)?.into_iter().map(|output| match output {
                Output::Data(data) => data.into_value(),
                Output::Value(value) => Some(value),
            });
            return values.collect::<Option<Vec<_>>>().ok_or_else(|| Error::argument("a result that cannot be read"));
        }
        let function = self.core_entry().function;
        let result = self.program.noting_peak(|| {
            let args = self.arguments(args)?;
            Ok(self.program.inner.interpreter.borrow_mut().call(function, args))
        })?;
        result.map_err(|error| self.program.runtime_error(error))
    }

    pub(crate) fn arguments(&self, args: &[&Value]) -> Result<Vec<interp::Value>> {
        self.check_arguments(args)?;
        args.iter().map(|arg| to_core((*arg).clone())).collect()
    }

    /// Checks arguments against the parameters.
    fn check_arguments(&self, args: &[&Value]) -> Result<()> {
        let entry = self.core_entry();
        let slots: Vec<(&EntryValue, usize, &Type)> = slots(&entry.params);
        if slots.len() != args.len() {
            let plural = if slots.len() == 1 { "" } else { "s" };
            let types: Vec<String> = slots.iter().map(|(_, _, ty)| type_string(ty)).collect();
            let types = if types.is_empty() { String::new() } else { format!(" ({})", types.join(", ")) };
            let message =
                format!("`{}` takes {} value{plural}{types}, but {} given", entry.name, slots.len(), counted(args.len()));
            return Err(Error::argument(message));
        }
        for (number, ((param, component, ty), arg)) in slots.into_iter().zip(args).enumerate() {
            if !fits(ty, arg) {
                let name = match param.name.as_str() {
                    "" => format!("parameter {number}"),
                    name => format!("parameter `{name}`"),
                };
                let part = match param.types.len() {
                    1 => format!("has type {}", param.source_type),
                    _ => {
                        let part = param.paths.get(component).cloned().unwrap_or_default();
                        format!("has type {}, and its component `{part}` has type {}", param.source_type, type_string(ty))
                    }
                };
                let given = arg.type_string();
                let message = format!("{name} of `{}` {part}, but a value of type {given} was given", entry.name);
                return Err(Error::argument(message));
            }
        }
        Ok(())
    }

    pub(crate) fn results_to_data(&self, results: Vec<interp::Value>) -> Result<Vec<Value>> {
        results
            .iter()
            .enumerate()
            .map(|(number, result)| result.to_data().and_then(Value::from_data).ok_or_else(|| self.no_data(number)))
            .collect()
    }

    fn no_data(&self, number: usize) -> Error {
        let entry = self.core_entry();
        let slots = slots(&entry.results);
        let ty = slots.get(number).map_or("", |(result, _, _)| result.source_type.as_str());
        Error::argument(format!("the result of `{}` has type {ty}, which is no number, boolean or array of such", entry.name))
    }
}

/// Every Core value of the parameters or results, with what it belongs to and its number there.
pub(crate) fn slots(values: &[EntryValue]) -> Vec<(&EntryValue, usize, &Type)> {
    values.iter().flat_map(|value| value.types.iter().enumerate().map(move |(at, ty)| (value, at, ty))).collect()
}

/// "1 was", "2 were".
pub(crate) fn counted(count: usize) -> String {
    format!("{count} {}", if count == 1 { "was" } else { "were" })
}

fn slot_names(values: &[EntryValue]) -> Vec<String> {
    let parts = |(number, value): (usize, &EntryValue)| -> Vec<String> {
        (0..value.types.len()).map(|part| value.part_name(number, part)).collect()
    };
    values.iter().enumerate().flat_map(parts).collect()
}

fn value_types(values: &[EntryValue]) -> Option<Vec<ValueType>> {
    slots(values).into_iter().map(|(_, _, ty)| value_type(ty)).collect()
}

/// The type as data; `None` for sums, functions and arrays of such.
pub(crate) fn value_type(ty: &Type) -> Option<ValueType> {
    match ty {
        Type::Prim(prim) => Some(ValueType { prim: *prim, rank: 0 }),
        Type::Array(array) => match array.element {
            Element::Prim(prim) => Some(ValueType { prim, rank: array.dims.len() }),
            _ => None,
        },
        _ => None,
    }
}

pub(crate) fn is_float(ty: &Type) -> bool {
    value_type(ty).is_some_and(|ty| ty.prim.is_float())
}

fn fits(ty: &Type, value: &Value) -> bool {
    if value_type(ty) != Some(value.value_type()) {
        return false;
    }
    match ty {
        Type::Array(array) => array.dims.iter().zip(value.shape()).all(|(dim, size)| match dim {
            Dim::Any => true,
            Dim::Const(wanted) => *wanted == *size as i64,
        }),
        _ => true,
    }
}

/// A Core type as the language would write it.
pub(crate) fn type_string(ty: &Type) -> String {
    match ty {
        Type::Prim(prim) => prim.name().to_owned(),
        Type::Array(array) => {
            let dims = array.dims.iter().map(|dim| match dim {
                Dim::Any => String::from("[]"),
                Dim::Const(size) => format!("[{size}]"),
            });
            let element = match &array.element {
                Element::Prim(prim) => prim.name().to_owned(),
                Element::Unit => String::from("()"),
                Element::Boxed(ty) => type_string(ty),
            };
            dims.collect::<String>() + &element
        }
        Type::Sum(constructors) => {
            let names: Vec<String> = constructors.iter().map(|constructor| format!("#{}", constructor.name)).collect();
            names.join(" | ")
        }
        Type::Named(_) => String::from("a recursive type"),
        Type::Function(_) => String::from("a function"),
        Type::Accumulator(_) => String::from("an accumulator"),
        Type::Log(_) => String::from("a log"),
    }
}

pub(crate) fn to_core(value: Value) -> Result<interp::Value> {
    value.into_data().into_value().ok_or_else(|| Error::argument("a value whose elements do not fit its shape"))
}
