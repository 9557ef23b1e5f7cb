//! What an engine makes of a function, in the notation of its paper: for people to read, not for machines.
//!
//! The notation covers what the papers cover: scalars, bindings, calls, conditions, choices between constructors; for CHAD also functions,
//! builds and their elements. Other forms stand as they are in Core, with a remark.

mod chad;

use crate::dual::Rung;
use crate::flow::Flows;
use chadwick_core::prim::{Derivative, Partial};
use chadwick_core::{Atom, Block, Const, Differentiate, Lambda, Mode, Op, PrimOp, Program, Statement, Type, Var};
use rustc_hash::FxHashSet;
use std::fmt::Write;

/// Whose notation.
#[derive(Clone, Copy, PartialEq)]
pub enum Style {
    Dual(Rung),
    Chad,
    ChadEfficient,
}

/// The functions that are differentiated, and those they call, transformed. Engines without a forward mode of their own only show reverse mode.
pub fn in_notation(program: &Program, style: Style) -> String {
    let mut writer =
        Writer { program, style, forward: false, text: String::new(), depth: 0, forms: false, active: Default::default() };
    writer.derivatives(&derivatives_by(program, &|mode| mode.is_reverse()));
    if style == Style::Chad {
        writer.forward = true;
        writer.derivatives(&derivatives_by(program, &|mode| matches!(mode, Mode::Jvp | Mode::Jmp)));
    }
    if writer.forms {
        writer
            .text
            .push_str("-- forms on arrays have no notation in the paper; they stand as in Core, on all parts of their values\n");
    }
    writer.text
}

/// What is differentiated in reverse.
pub(crate) fn reverse_derivatives<'p>(block: &'p Block, roots: &mut Vec<&'p Differentiate>) {
    derivatives_in(block, &|mode| mode.is_reverse(), roots);
}

fn derivatives_by<'p>(program: &'p Program, is_such: &dyn Fn(Mode) -> bool) -> Vec<&'p Differentiate> {
    let mut roots = Vec::new();
    program.functions.iter().for_each(|function| derivatives_in(&function.body, is_such, &mut roots));
    roots
}

fn derivatives_in<'p>(block: &'p Block, is_such: &dyn Fn(Mode) -> bool, roots: &mut Vec<&'p Differentiate>) {
    for statement in &block.statements {
        if let Op::Differentiate(parts) = &statement.op
            && is_such(parts.mode)
        {
            roots.push(parts);
        }
        statement.op.scopes().iter().for_each(|scope| derivatives_in(scope.block, is_such, roots));
    }
}

/// The variables that depend on the masked parameters and on which a result depends.
fn active(program: &Program, lambda: &Lambda, mask: &[bool], reverse: bool) -> FxHashSet<Var> {
    let mut flows = Flows::default();
    let inputs = lambda.params.iter().zip(mask).filter(|(_, masked)| **masked).map(|(param, _)| param.var);
    let mut inputs: Vec<Var> = inputs.collect();
    let given = inputs.len();
    closure_params(&lambda.body, &mut inputs);
    let applies = inputs.len() > given;
    let mut active = flows.active_variables(program, &lambda.body, inputs, reverse);
    let outputs = lambda.body.results.iter().filter_map(|result| if let Atom::Var(var) = result { Some(*var) } else { None });
    let useful = flows.useful_variables(program, &lambda.body, outputs, reverse);
    // What a function that is a value gives may be useful anywhere.
    active.retain(|var| applies || useful.contains(var));
    active
}

/// Functions that are values, and their parameters: what they are applied to is not known.
fn closure_params(block: &Block, found: &mut Vec<Var>) {
    for statement in &block.statements {
        if let Op::Closure(lambda) = &statement.op {
            found.extend(statement.binders.iter().map(|binder| binder.var));
            found.extend(lambda.params.iter().map(|param| param.var));
        }
        statement.op.scopes().iter().for_each(|scope| closure_params(scope.block, found));
    }
}

/// The calls that have something beside an argument; each function once for each choice of arguments.
fn calls(block: &Block, active: &FxHashSet<Var>, known: &mut Vec<(usize, Vec<bool>)>) {
    for statement in &block.statements {
        if let Op::Call { function, args } = &statement.op {
            let is_active = |arg: &Atom| matches!(arg, Atom::Var(var) if active.contains(var));
            let call = (function.0 as usize, args.iter().map(is_active).collect::<Vec<bool>>());
            if call.1.contains(&true) && !known.contains(&call) {
                known.push(call);
            }
        }
        statement.op.scopes().iter().for_each(|scope| calls(scope.block, active, known));
    }
}

struct Writer<'p> {
    program: &'p Program,
    style: Style,
    /// Whether derivatives go forwards.
    forward: bool,
    text: String,
    depth: usize,
    /// Whether a form without notation was met.
    forms: bool,
    active: FxHashSet<Var>,
}

impl Writer<'_> {
    /// Each derivative, and then the functions that are called.
    fn derivatives(&mut self, roots: &[&Differentiate]) {
        // Which parameters of each function that is called have something beside them.
        let mut called: Vec<(usize, Vec<bool>)> = Vec::new();
        for (number, root) in roots.iter().enumerate() {
            self.active = active(self.program, &root.function, &vec![true; root.function.params.len()], !self.forward);
            calls(&root.function.body, &self.active, &mut called);
            self.function(&format!("function {}", number + 1), &root.function);
        }
        let mut at = 0;
        while let Some((number, mask)) = called.get(at).cloned() {
            at += 1;
            let Some(function) = self.program.functions.get(number) else { continue };
            let lambda =
                Lambda { params: function.params.clone(), results: function.results.clone(), body: function.body.clone() };
            self.active = active(self.program, &lambda, &mask, !self.forward);
            calls(&lambda.body, &self.active, &mut called);
            self.function(&function.name, &lambda);
        }
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{:indent$}{text}", "", indent = 2 * self.depth);
    }

    fn var(&self, var: Var) -> String {
        match self.program.var_names.get(var.0 as usize).map(ToString::to_string) {
            Some(name) if !name.is_empty() => format!("{name}{}", var.0),
            _ => format!("t{}", var.0),
        }
    }

    fn atom(&self, atom: &Atom) -> String {
        match atom {
            Atom::Var(var) => self.var(*var),
            Atom::Const(constant) => number(constant),
        }
    }

    fn atoms(&self, atoms: &[Atom]) -> String {
        let atoms: Vec<String> = atoms.iter().map(|atom| self.atom(atom)).collect();
        atoms.join(", ")
    }

    fn function(&mut self, name: &str, lambda: &Lambda) {
        let params: Vec<String> = lambda.params.iter().map(|param| self.var(param.var)).collect();
        if !matches!(self.style, Style::Dual(_)) {
            self.chad_function(name, &params.join(", "), lambda);
            return;
        }
        self.line(&format!("D[{name}] = \\({}). do", params.join(", ")));
        self.block(&lambda.body);
        self.text.push('\n');
    }

    fn block(&mut self, block: &Block) {
        self.depth += 1;
        block.statements.iter().for_each(|statement| self.statement(statement));
        let results = self.atoms(&block.results);
        self.line(&format!("return ({results})"));
        self.depth -= 1;
    }

    fn statement(&mut self, statement: &Statement) {
        let bound: Vec<String> = statement.binders.iter().map(|binder| self.var(binder.var)).collect();
        let bound = bound.join(", ");
        match &statement.op {
            Op::Prim(op, args) => self.prim(&bound, statement, *op, args),
            Op::Copy(atoms) => {
                let atoms = self.atoms(atoms);
                self.line(&format!("let {bound} = {atoms}"));
            }
            Op::Call { function, args } => {
                let name = self.program.functions.get(function.0 as usize).map(|it| it.name.to_string()).unwrap_or_default();
                let is_active = args.iter().any(|arg| matches!(arg, Atom::Var(var) if self.active.contains(var)));
                let args = self.atoms(args);
                self.line(&match is_active {
                    true => format!("({bound}) <- D[{name}]({args})"),
                    false => format!("let {bound} = {name}({args})"),
                });
            }
            Op::Construct { tag, args, .. } => {
                let args = self.atoms(args);
                self.line(&format!("let {bound} = in{tag} ({args})"));
            }
            Op::If { condition, then, otherwise } => {
                let condition = self.atom(condition);
                self.line(&format!("({bound}) <- if {condition} then do"));
                self.block(then);
                self.line("else do");
                self.block(otherwise);
            }
            Op::Match { scrutinee, arms, otherwise } => {
                let scrutinee = self.atom(scrutinee);
                self.line(&format!("({bound}) <- case {scrutinee} of"));
                for arm in arms {
                    let fields: Vec<String> = arm.binders.iter().map(|binder| self.var(binder.var)).collect();
                    self.line(&format!("in{} ({}) -> do", arm.tag, fields.join(", ")));
                    self.block(&arm.body);
                }
                if let Some(block) = otherwise {
                    self.line("_ -> do");
                    self.block(block);
                }
            }
            _ => self.as_core(statement),
        }
    }

    /// A form that has no notation.
    fn as_core(&mut self, statement: &Statement) {
        self.forms = true;
        let block = Block { statements: vec![statement.clone()], results: Vec::new() };
        let text = chadwick_core::text::print_block(self.program, &block);
        let lines = text.lines().map(str::trim_end).filter(|line| !matches!(line.trim(), "{" | "return") && *line != "}");
        lines.for_each(|line| self.line(line));
    }

    fn is_active(&self, atom: &Atom) -> bool {
        matches!(atom, Atom::Var(var) if self.active.contains(var))
    }

    /// The operands through which a cotangent passes, with the partial derivative by each.
    fn through(&self, bound: &str, op: PrimOp, args: &[Atom]) -> Vec<(String, String)> {
        let derivatives = op.derivatives();
        let passing = derivatives.iter().zip(args).filter(|(it, arg)| **it != Derivative::Zero && self.is_active(arg));
        passing.map(|(derivative, arg)| (self.derivative(derivative, args, bound), self.atom(arg))).collect()
    }

    fn prim(&mut self, bound: &str, statement: &Statement, op: PrimOp, args: &[Atom]) {
        let value = format!("{}({})", op.name(), self.atoms(args));
        let parts = self.through(bound, op, args);
        let is_number =
            statement.binders.first().is_some_and(|binder| binder.ty != Type::BOOL && self.active.contains(&binder.var));
        let Style::Dual(rung) = self.style else { return };
        if parts.is_empty() || !is_number {
            self.line(&format!("let {bound} = {value}"));
            return;
        }
        let join = |make: &dyn Fn(&str, &str) -> String, between: &str| {
            parts.iter().map(|(partial, of)| make(partial, of)).collect::<Vec<_>>().join(between)
        };
        let text = match rung {
            Rung::Naive => {
                let body = join(&|partial, of| format!("{of}_d ({partial} * z)"), " + ");
                format!("let {bound} = ({value}, \\z. {body})")
            }
            Rung::Staged => {
                let body = join(&|partial, of| format!("SCall {of}_d ({partial} * z)"), " + ");
                format!("id <- genID; let {bound} = ({value}, (id, \\z. {body}))")
            }
            Rung::Cayley | Rung::Sparse => {
                let body = join(&|partial, of| format!("SCall {of}_d ({partial} * z)"), " . ");
                format!("id <- genID; let {bound} = ({value}, (id, \\z. {body}))")
            }
            Rung::Mutable | Rung::Single => {
                let body = join(&|partial, of| format!("SCall {of}_d ({partial} * z) s"), " >> ");
                format!("id <- genID; let {bound} = ({value}, (id, \\z s. {body}))")
            }
            Rung::Contrib => {
                let body = join(&|partial, of| format!("({partial}, {of}_d)"), ", ");
                format!("id <- genID; let {bound} = ({value}, (id, [{body}]))")
            }
            Rung::Tape => {
                let body = join(&|partial, of| format!("({partial}, {of}_id)"), ", ");
                format!("let {bound} = {value}; {bound}_id <- write tape [{body}]")
            }
            Rung::Parallel => {
                let body = join(&|partial, of| format!("({partial}, {of}_id)"), ", ");
                format!("let {bound} = {value}; {bound}_id <- (task, write tape_of_task [{body}])")
            }
            Rung::Delta => {
                let body = join(&|partial, of| format!("Scale ({partial}) {of}_d"), " `Add` ");
                format!("u <- deltaLet ({body}); let {bound} = ({value}, Var u)")
            }
        };
        self.line(&text);
    }

    fn derivative(&self, derivative: &Derivative, args: &[Atom], result: &str) -> String {
        match derivative {
            Derivative::Zero => String::from("0"),
            Derivative::One => String::from("1"),
            Derivative::MinusOne => String::from("-1"),
            Derivative::Convert => String::from("convert"),
            Derivative::Scale(partial) => self.partial(partial, args, result),
        }
    }

    fn partial(&self, partial: &Partial, args: &[Atom], result: &str) -> String {
        match partial {
            Partial::Operand(at) => args.get(*at).map(|atom| self.atom(atom)).unwrap_or_default(),
            Partial::Result => result.to_owned(),
            Partial::Constant(constant) => number(constant),
            Partial::Apply(op, parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.partial(part, args, result)).collect();
                format!("{}({})", op.name(), parts.join(", "))
            }
            Partial::Select(parts) => {
                let [condition, then, otherwise] = parts.each_ref().map(|part| self.partial(part, args, result));
                format!("if {condition} then {then} else {otherwise}")
            }
        }
    }
}

/// A constant without its type.
fn number(constant: &Const) -> String {
    let text = format!("{constant:?}");
    match (text.find('('), text.rfind(')')) {
        (Some(open), Some(close)) => text[open + 1..close].to_owned(),
        _ => text,
    }
}
