//! From terms to text.

use super::is_identifier;
use crate::constant::Const;
use crate::term::*;
use crate::types::*;
use half::f16;
use std::fmt::{self, Write};

/// The text of a program.
pub fn print(program: &Program) -> String {
    let mut printer = Printer { program, out: String::new(), indent: 0 };
    // Writing to a string does not fail.
    let _ = printer.program();
    printer.out
}

/// The text of one block of a program, for people.
pub fn print_block(program: &Program, block: &Block) -> String {
    let mut printer = Printer { program, out: String::new(), indent: 0 };
    let _ = printer.block(block);
    printer.out
}

/// The text of a type of a program.
pub fn print_type(program: &Program, ty: &Type) -> String {
    let mut printer = Printer { program, out: String::new(), indent: 0 };
    let _ = printer.ty(ty);
    printer.out
}

struct Printer<'a> {
    program: &'a Program,
    out: String,
    indent: usize,
}

impl fmt::Write for Printer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.out.push_str(text);
        Ok(())
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            other if other.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", other as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

impl Printer<'_> {
    fn program(&mut self) -> fmt::Result {
        let program = self.program;
        for (at, definition) in program.types.iter().enumerate() {
            self.write_str("type ")?;
            self.name(&definition.name)?;
            write!(self, "@{at} = ")?;
            self.constructors(&definition.constructors)?;
            self.write_str("\n\n")?;
        }
        for (at, function) in program.functions.iter().enumerate() {
            self.write_str("def ")?;
            self.name(&function.name)?;
            write!(self, "@{at}")?;
            self.signature(&function.params, &function.results)?;
            self.write_str(" ")?;
            self.block(&function.body)?;
            self.write_str("\n\n")?;
        }
        for entry in &program.entries {
            self.write_str("entry ")?;
            self.name(&entry.name)?;
            self.write_str(" = ")?;
            self.function(entry.function)?;
            self.write_str(" ")?;
            self.entry_values(&entry.params)?;
            self.write_str(" -> ")?;
            self.entry_values(&entry.results)?;
            self.write_str("\n")?;
        }
        Ok(())
    }

    fn entry_values(&mut self, values: &[EntryValue]) -> fmt::Result {
        self.separated("(", values, ")", |printer, value| {
            write!(printer, "{} {} ", quoted(&value.name), quoted(&value.source_type))?;
            printer.types(&value.types)?;
            if value.paths.iter().all(|path| path.is_empty()) {
                return Ok(());
            }
            printer.write_str(" at ")?;
            printer.separated("(", &value.paths, ")", |printer, path| printer.write_str(&quoted(path)))
        })
    }

    /// A name as an identifier or in quotes. Identifiers end differently from variables, so no number can be mistaken.
    fn name(&mut self, name: &str) -> fmt::Result {
        match is_identifier(name) {
            true => self.write_str(name),
            false => self.write_str(&quoted(name)),
        }
    }

    fn function(&mut self, function: FunctionId) -> fmt::Result {
        if let Some(known) = self.program.functions.get(function.0 as usize) {
            self.name(&known.name)?;
        }
        write!(self, "@{}", function.0)
    }

    fn var(&mut self, var: Var) -> fmt::Result {
        match self.program.var_names.get(var.0 as usize) {
            Some(name) if is_identifier(name) => write!(self, "{name}_{}", var.0),
            Some(name) if !name.is_empty() => write!(self, "{}_{}", quoted(name), var.0),
            _ => write!(self, "_{}", var.0),
        }
    }

    fn atom(&mut self, atom: &Atom) -> fmt::Result {
        match atom {
            Atom::Var(var) => self.var(*var),
            Atom::Const(constant) => self.write_str(&constant_text(*constant)),
        }
    }

    fn separated<T>(
        &mut self,
        open: &str,
        items: &[T],
        close: &str,
        mut print: impl FnMut(&mut Self, &T) -> fmt::Result,
    ) -> fmt::Result {
        self.write_str(open)?;
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.write_str(", ")?;
            }
            print(self, item)?;
        }
        self.write_str(close)
    }

    fn atoms(&mut self, atoms: &[Atom]) -> fmt::Result {
        self.separated("(", atoms, ")", |printer, atom| printer.atom(atom))
    }

    fn ty(&mut self, ty: &Type) -> fmt::Result {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || match ty {
            Type::Prim(prim) => self.write_str(prim.name()),
            Type::Array(array) => {
                for dim in &array.dims {
                    match dim {
                        Dim::Any => self.write_str("[?]")?,
                        Dim::Const(size) => write!(self, "[{size}]")?,
                    }
                }
                match &array.element {
                    Element::Prim(prim) => self.write_str(prim.name()),
                    Element::Unit => self.write_str("()"),
                    Element::Boxed(ty) => self.ty(ty),
                }
            }
            Type::Sum(constructors) => {
                self.write_str("{")?;
                self.constructors(constructors)?;
                self.write_str("}")
            }
            Type::Named(id) => {
                if let Some(definition) = self.program.types.get(id.0 as usize) {
                    self.name(&definition.name)?;
                }
                write!(self, "@{}", id.0)
            }
            Type::Function(function) => {
                self.write_str("fn")?;
                self.types(&function.params)?;
                self.write_str(" -> ")?;
                self.types(&function.results)
            }
            Type::Accumulator(content) => {
                self.write_str("acc(")?;
                self.ty(content)?;
                self.write_str(")")
            }
            Type::Log(log) => {
                write!(self, "log({}", log.indices)?;
                for value in &log.values {
                    self.write_str(", ")?;
                    self.ty(value)?;
                }
                self.write_str(")")
            }
        })
    }

    fn types(&mut self, types: &[Type]) -> fmt::Result {
        self.separated("(", types, ")", |printer, ty| printer.ty(ty))
    }

    fn constructors(&mut self, constructors: &[Constructor]) -> fmt::Result {
        for (at, constructor) in constructors.iter().enumerate() {
            self.write_str(if at > 0 { " | #" } else { "#" })?;
            self.name(&constructor.name)?;
            if !constructor.payload.is_empty() {
                self.types(&constructor.payload)?;
            }
        }
        Ok(())
    }

    fn binder(&mut self, binder: &Binder) -> fmt::Result {
        self.var(binder.var)?;
        self.write_str(": ")?;
        self.ty(&binder.ty)
    }

    fn binders(&mut self, binders: &[Binder]) -> fmt::Result {
        self.separated("(", binders, ")", |printer, binder| printer.binder(binder))
    }

    fn signature(&mut self, params: &[Binder], results: &[Type]) -> fmt::Result {
        self.binders(params)?;
        self.write_str(" -> ")?;
        self.types(results)
    }

    fn lambda(&mut self, word: &str, lambda: &Lambda) -> fmt::Result {
        write!(self, "{word} ")?;
        self.signature(&lambda.params, &lambda.results)?;
        self.write_str(" ")?;
        self.block(&lambda.body)
    }

    fn new_line(&mut self) -> fmt::Result {
        write!(self, "\n{:1$}", "", self.indent * 2)
    }

    fn block(&mut self, block: &Block) -> fmt::Result {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || {
            self.write_str("{")?;
            self.indent += 1;
            for statement in &block.statements {
                self.new_line()?;
                self.statement(statement)?;
            }
            self.new_line()?;
            self.write_str("return")?;
            for (at, result) in block.results.iter().enumerate() {
                self.write_str(if at > 0 { ", " } else { " " })?;
                self.atom(result)?;
            }
            self.indent -= 1;
            self.new_line()?;
            self.write_str("}")
        })
    }

    fn statement(&mut self, statement: &Statement) -> fmt::Result {
        if !statement.binders.is_empty() {
            self.separated("", &statement.binders, " = ", |printer, binder| printer.binder(binder))?;
        }
        self.op(&statement.op)
    }

    fn space(&mut self, space: &[Axis]) -> fmt::Result {
        self.separated("[", space, "] ", |printer, axis| {
            printer.var(axis.var)?;
            printer.write_str(" < ")?;
            printer.atom(&axis.size)
        })
    }

    fn sizes(&mut self, sizes: &[Size]) -> fmt::Result {
        self.separated("(", sizes, ")", |printer, size| match size {
            Size::Known(atom) => printer.atom(atom),
            Size::FromValue => printer.write_str("?"),
        })
    }

    /// A word and a parenthesised list, with a space behind.
    fn labelled(&mut self, label: &str, atoms: &[Atom]) -> fmt::Result {
        self.write_str(label)?;
        self.atoms(atoms)?;
        self.write_str(" ")
    }

    fn slice_dims(&mut self, dims: &[SliceDim]) -> fmt::Result {
        self.separated("[", dims, "]", |printer, dim| match dim {
            SliceDim::Index(index) => printer.atom(index),
            SliceDim::Range { start, count, stride } => {
                printer.atom(start)?;
                printer.write_str(" : ")?;
                printer.atom(count)?;
                printer.write_str(" : ")?;
                printer.atom(stride)
            }
        })
    }

    fn op(&mut self, op: &Op) -> fmt::Result {
        match op {
            Op::Copy(atoms) => {
                self.write_str("copy")?;
                self.atoms(atoms)
            }
            Op::Prim(prim, args) => {
                self.write_str(&prim.name())?;
                self.atoms(args)
            }
            Op::If { condition, then, otherwise } => {
                self.write_str("if ")?;
                self.atom(condition)?;
                self.write_str(" ")?;
                self.block(then)?;
                self.write_str(" else ")?;
                self.block(otherwise)
            }
            Op::Call { function, args } => {
                self.write_str("call ")?;
                self.function(*function)?;
                self.atoms(args)
            }
            Op::Closure(lambda) => self.lambda("fn", lambda),
            Op::Apply { function, args } => {
                self.write_str("apply ")?;
                self.atom(function)?;
                self.atoms(args)
            }
            Op::Construct { ty, tag, args } => {
                write!(self, "construct {tag} ")?;
                self.ty(ty)?;
                self.write_str(" ")?;
                self.atoms(args)
            }
            Op::Match { scrutinee, arms, otherwise } => {
                self.write_str("match ")?;
                self.atom(scrutinee)?;
                self.write_str(" {")?;
                self.indent += 1;
                for arm in arms {
                    self.new_line()?;
                    write!(self, "case {} ", arm.tag)?;
                    self.binders(&arm.binders)?;
                    self.write_str(" ")?;
                    self.block(&arm.body)?;
                }
                if let Some(block) = otherwise {
                    self.new_line()?;
                    self.write_str("else ")?;
                    self.block(block)?;
                }
                self.indent -= 1;
                self.new_line()?;
                self.write_str("}")
            }
            Op::Build { space, body, inner } => {
                self.write_str("build ")?;
                self.space(space)?;
                if inner.len() != body.results.len() || inner.iter().any(|sizes| !sizes.is_empty()) {
                    self.separated("inner(", inner, ") ", |printer, sizes| printer.sizes(sizes))?;
                }
                self.block(body)
            }
            Op::Reduce { space, op, neutral, body, commutative } => {
                self.write_str(if *commutative { "reduce_comm " } else { "reduce " })?;
                self.space(space)?;
                self.labelled("neutral", neutral)?;
                self.lambda("op", op)?;
                self.write_str(" ")?;
                self.block(body)
            }
            Op::Scan { axis, op, neutral, body } => {
                self.write_str("scan ")?;
                self.space(std::slice::from_ref(axis))?;
                self.labelled("neutral", neutral)?;
                self.lambda("op", op)?;
                self.write_str(" ")?;
                self.block(body)
            }
            Op::Hist { space, dest, rank, op, neutral, body } => {
                self.write_str("hist ")?;
                self.space(space)?;
                self.labelled("dest", dest)?;
                write!(self, "rank {rank} ")?;
                self.labelled("neutral", neutral)?;
                self.lambda("op", op)?;
                self.write_str(" ")?;
                self.block(body)
            }
            Op::Scatter { space, dest, rank, body } => {
                self.write_str("scatter ")?;
                self.space(space)?;
                self.labelled("dest", dest)?;
                write!(self, "rank {rank} ")?;
                self.block(body)
            }
            Op::Loop(the_loop) => self.loop_op(the_loop),
            Op::Assert { condition, message } => {
                self.write_str("assert ")?;
                self.atom(condition)?;
                self.separated(" (", message, ")", |printer, part| match part {
                    MessagePart::Text(text) => printer.write_str(&quoted(text)),
                    MessagePart::Value(atom) => printer.atom(atom),
                })
            }
            Op::Par { left, right } => {
                self.write_str("par ")?;
                self.block(left)?;
                self.write_str(" ")?;
                self.block(right)
            }
            Op::Recompute(block) => {
                self.write_str("recompute ")?;
                self.block(block)
            }
            Op::Trace { tag, args } => {
                write!(self, "trace {} ", quoted(tag))?;
                self.atoms(args)
            }
            Op::Differentiate(it) => self.differentiate(it),
            Op::Custom(it) => {
                match it.kind {
                    CustomKind::Vjp => self.write_str("custom vjp ")?,
                    CustomKind::VjpTape { tape } => write!(self, "custom vjp_tape {tape} ")?,
                    CustomKind::Jvp => self.write_str("custom jvp ")?,
                }
                self.lambda("fn", &it.function)?;
                self.lambda(" rule", &it.rule)?;
                self.write_str(" args")?;
                self.atoms(&it.args)
            }
            Op::WithAccumulators { handles, init, body } => {
                self.write_str("with_acc ")?;
                self.initialised(handles, init)?;
                self.write_str(" ")?;
                self.block(body)
            }
            Op::WithLog { handle, start, body } => {
                self.write_str("with_log (")?;
                self.binder(handle)?;
                self.write_str(") from ")?;
                self.atom(start)?;
                self.write_str(" ")?;
                self.block(body)
            }
            Op::Log { handle, indices, values } => {
                self.write_str("log ")?;
                self.atom(handle)?;
                self.atoms(indices)?;
                self.atoms(values)
            }
            Op::Accumulate { handle, path, value } => {
                self.write_str("accumulate ")?;
                self.atom(handle)?;
                for step in path {
                    match step {
                        PathStep::Index(indices) => self.separated(" [", indices, "]", |printer, atom| printer.atom(atom))?,
                        PathStep::Slice(dims) => {
                            self.write_str(" slice ")?;
                            self.slice_dims(dims)?;
                        }
                        PathStep::Payload { tag, field } => write!(self, " payload({tag}, {field})")?,
                    }
                }
                self.write_str(" += ")?;
                self.atom(value)
            }
            Op::ArrayLiteral { .. }
            | Op::Index { .. }
            | Op::Slice { .. }
            | Op::Update { .. }
            | Op::Transpose { .. }
            | Op::Reshape { .. }
            | Op::Concat { .. }
            | Op::Dim { .. } => self.array_op(op),
        }
    }

    fn array_op(&mut self, op: &Op) -> fmt::Result {
        match op {
            Op::ArrayLiteral { ty, elements, inner } => {
                self.write_str("array ")?;
                self.ty(ty)?;
                self.write_str(" ")?;
                self.atoms(elements)?;
                if !inner.is_empty() {
                    self.write_str(" inner")?;
                    self.sizes(inner)?;
                }
                Ok(())
            }
            Op::Index { array, indices } => {
                self.write_str("index ")?;
                self.atom(array)?;
                self.separated(" [", indices, "]", |printer, atom| printer.atom(atom))
            }
            Op::Slice { array, dims } => {
                self.write_str("slice ")?;
                self.atom(array)?;
                self.write_str(" ")?;
                self.slice_dims(dims)
            }
            Op::Update { array, dims, value } => {
                self.write_str("update ")?;
                self.atom(array)?;
                self.write_str(" ")?;
                self.slice_dims(dims)?;
                self.write_str(" with ")?;
                self.atom(value)
            }
            Op::Transpose { array, permutation } => {
                self.write_str("transpose ")?;
                self.atom(array)?;
                self.separated(" (", permutation, ")", |printer, axis| write!(printer, "{axis}"))
            }
            Op::Reshape { array, dims } => {
                self.write_str("reshape ")?;
                self.atom(array)?;
                self.write_str(" ")?;
                self.atoms(dims)
            }
            Op::Concat { arrays } => {
                self.write_str("concat")?;
                self.atoms(arrays)
            }
            Op::Dim { array, axis } => {
                self.write_str("dim ")?;
                self.atom(array)?;
                write!(self, " {axis}")
            }
            _ => Ok(()),
        }
    }

    /// `(x: t = a, …)`
    fn initialised(&mut self, binders: &[Binder], initial: &[Atom]) -> fmt::Result {
        let pairs: Vec<(&Binder, &Atom)> = binders.iter().zip(initial).collect();
        self.separated("(", &pairs, ")", |printer, (binder, atom)| {
            printer.binder(binder)?;
            printer.write_str(" = ")?;
            printer.atom(atom)
        })
    }

    fn loop_op(&mut self, the_loop: &Loop) -> fmt::Result {
        self.write_str("loop ")?;
        self.initialised(&the_loop.carry, &the_loop.initial)?;
        match &the_loop.form {
            LoopForm::For { index, bound } => {
                self.write_str(" for ")?;
                self.binder(index)?;
                self.write_str(" < ")?;
                self.atom(bound)?;
            }
            LoopForm::While { condition } => {
                self.write_str(" while ")?;
                self.block(condition)?;
            }
        }
        if !the_loop.emits.is_empty() {
            self.separated(" emits(", &the_loop.emits, ")", |printer, sizes| printer.sizes(sizes))?;
        }
        if the_loop.counted {
            self.write_str(" counted")?;
        }
        if let Some(depth) = the_loop.hints.stripmine {
            write!(self, " stripmine({depth})")?;
        }
        if let Some(bound) = the_loop.hints.bound {
            write!(self, " bound({bound})")?;
        }
        if the_loop.hints.true_dependency {
            self.write_str(" true_dep")?;
        }
        if the_loop.hints.commutes {
            self.write_str(" ccl")?;
        }
        self.write_str(" ")?;
        self.block(&the_loop.body)
    }

    fn differentiate(&mut self, it: &Differentiate) -> fmt::Result {
        self.write_str(match it.mode {
            Mode::Jvp => "jvp ",
            Mode::Vjp => "vjp ",
            Mode::Jmp => "jmp ",
            Mode::Mjp => "mjp ",
            Mode::Dependencies => "dependencies ",
        })?;
        if it.with_primal {
            self.write_str("with_primal ")?;
        }
        if let Some(count) = &it.count {
            self.write_str("count(")?;
            self.atom(count)?;
            self.write_str(") ")?;
        }
        if it.unroll {
            self.write_str("unroll ")?;
        }
        self.lambda("fn", &it.function)?;
        self.labelled(" args", &it.args)?;
        self.write_str("seeds")?;
        self.atoms(&it.seeds)
    }
}

/// A constant with its type; every bit survives.
pub(super) fn constant_text(constant: Const) -> String {
    match constant {
        Const::Bool(value) => value.to_string(),
        Const::I8(value) => format!("{value}i8"),
        Const::I16(value) => format!("{value}i16"),
        Const::I32(value) => format!("{value}i32"),
        Const::I64(value) => format!("{value}i64"),
        Const::U8(value) => format!("{value}u8"),
        Const::U16(value) => format!("{value}u16"),
        Const::U32(value) => format!("{value}u32"),
        Const::U64(value) => format!("{value}u64"),
        Const::F16(value) if value.is_finite() => format!("{:?}f16", value.to_f32()),
        Const::F32(value) if value.is_finite() => format!("{value:?}f32"),
        Const::F64(value) if value.is_finite() => format!("{value:?}f64"),
        Const::F16(value) => special_text("f16", value.to_f64(), value.to_bits() == f16::NAN.to_bits(), value.to_bits().into()),
        Const::F32(value) => special_text("f32", value.into(), value.to_bits() == f32::NAN.to_bits(), value.to_bits().into()),
        Const::F64(value) => special_text("f64", value, value.to_bits() == f64::NAN.to_bits(), value.to_bits()),
    }
}

fn special_text(prim: &str, value: f64, usual_nan: bool, bits: u64) -> String {
    match () {
        () if usual_nan => format!("{prim}.nan"),
        () if value.is_nan() => format!("{prim}.bits({bits})"),
        () if value > 0.0 => format!("{prim}.inf"),
        () => format!("-{prim}.inf"),
    }
}
