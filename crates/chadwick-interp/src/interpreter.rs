//! The interpreter as others see it.

use crate::derivative::Recorded;
use crate::error::{ErrorKind, Failure, Outcome, RuntimeError, fail};
use crate::machine::{Counters, Limits, Machine};
use crate::value::Value;
use chadwick_core::{Element, FunctionId, Program, Type};
use chadwick_source::Span;
use std::rc::Rc;

/// Runs the functions of one program.
pub struct Interpreter {
    machine: Machine,
}

/// A function that has been run in reverse mode, ready for any number of cotangents.
pub struct Pullback {
    recorded: Recorded,
}

impl Interpreter {
    /// The program should have passed the verifier; one that has not gives errors at worst.
    pub fn new(program: Rc<Program>, limits: Limits) -> Self {
        Interpreter { machine: Machine::new(program, limits) }
    }

    pub fn program(&self) -> &Program {
        &self.machine.program
    }

    pub fn set_limits(&mut self, limits: Limits) {
        self.machine.limits = limits;
    }

    /// Where `trace` goes: the tag and the values. Without a sink, nowhere.
    pub fn set_trace(&mut self, sink: impl FnMut(&str, &[Value]) + 'static) {
        self.machine.trace = Some(Box::new(sink));
    }

    pub fn counters(&self) -> Counters {
        self.machine.counters
    }

    pub fn reset_counters(&mut self) {
        self.machine.counters = Counters::default();
    }

    /// Calls a function.
    pub fn call(&mut self, function: FunctionId, args: Vec<Value>) -> Result<Vec<Value>, RuntimeError> {
        self.guarded(|machine| {
            check_arguments(machine, function, &args)?;
            let code = machine.code(function)?;
            machine.run(&code, Vec::new(), args)
        })
    }

    /// Runs a function once in reverse mode with respect to the arguments in `wrt`.
    pub fn pullback(
        &mut self,
        function: FunctionId,
        args: Vec<Value>,
        wrt: &[usize],
    ) -> Result<(Vec<Value>, Pullback), RuntimeError> {
        self.guarded(|machine| {
            check_arguments(machine, function, &args)?;
            let code = machine.code(function)?;
            machine.levels_open += 1;
            let recorded = machine.record_run(&code, Vec::new(), args, |at| wrt.contains(&at))?;
            Ok((recorded.results.clone(), Pullback { recorded }))
        })
    }

    /// The cotangents of the arguments in `wrt`, in order of the arguments, for cotangents of the results.
    pub fn pull(&mut self, pullback: &Pullback, cotangents: &[Value]) -> Result<Vec<Value>, RuntimeError> {
        self.guarded(|machine| match cotangents.len() == pullback.recorded.results.len() {
            true => machine.backward(&pullback.recorded, cotangents),
            false => fail(ErrorKind::Differentiation, "as many cotangents as results are needed"),
        })
    }

    fn guarded<T>(&mut self, work: impl FnOnce(&mut Machine) -> Outcome<T>) -> Result<T, RuntimeError> {
        self.machine.begin();
        work(&mut self.machine).map_err(|failure| into_error(*failure))
    }
}

fn into_error(failure: Failure) -> RuntimeError {
    let (span, trace) = failure.place.map_or((Span::default(), Vec::new()), |place| *place);
    RuntimeError { kind: failure.kind, message: failure.message, span, trace }
}

fn check_arguments(machine: &Machine, function: FunctionId, args: &[Value]) -> Outcome<()> {
    let Some(function) = machine.program.functions.get(function.0 as usize) else {
        return fail(ErrorKind::Malformed, "no such function");
    };
    if function.params.len() != args.len() {
        let message = format!("{} arguments where {} belong", args.len(), function.params.len());
        return fail(ErrorKind::Malformed, message);
    }
    for (at, (param, arg)) in function.params.iter().zip(args).enumerate() {
        if !fits(&param.ty, arg) {
            return fail(ErrorKind::Malformed, format!("argument {at} does not have the type of its parameter"));
        }
    }
    Ok(())
}

/// Whether a value is of a type, as far as one look tells.
fn fits(ty: &Type, value: &Value) -> bool {
    match (ty, value) {
        (Type::Prim(prim), value) => value.prim() == Some(*prim),
        (Type::Array(ty), Value::Array(array)) => {
            let dims = ty.dims.iter().zip(array.shape());
            let sizes_fit = dims.into_iter().all(|(dim, size)| match dim {
                chadwick_core::Dim::Any => true,
                chadwick_core::Dim::Const(wanted) => wanted == size,
            });
            let elements_fit = match &ty.element {
                Element::Prim(prim) => array.buffer().prim() == Some(*prim),
                Element::Unit => matches!(array.buffer(), crate::Buffer::Unit(_)),
                Element::Boxed(_) => matches!(array.buffer(), crate::Buffer::Boxed(_)),
            };
            ty.dims.len() == array.shape().len() && sizes_fit && elements_fit
        }
        (Type::Sum(_) | Type::Named(_), Value::Sum(_)) => true,
        (Type::Function(_), Value::Function(_)) => true,
        _ => false,
    }
}
