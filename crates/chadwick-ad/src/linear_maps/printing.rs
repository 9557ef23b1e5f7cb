//! Derivatives in the notation of the paper: `∂f` as it is made, `∂f` after the laws, and the functions in which no map is left.

use super::functions::{MapFunctions, reverse_function};
use super::laws::Simplifier;
use super::maps::{Chosen, Derived, Factor, Family, Map};
use crate::context::Context;
use chadwick_core::prim::Partial;
use chadwick_core::{
    Atom, Axis, Binder, Block, Const, FunctionId, Lambda, LoopForm, Op, PathStep, Program, SliceDim, Statement, Var,
};
use std::fmt::Write;

/// The functions that are differentiated in reverse and those they call.
pub(crate) fn in_notation(prepared: &Program) -> String {
    let mut program = prepared.clone();
    let mut roots = Vec::new();
    for function in &prepared.functions {
        collect(&function.body, &mut roots);
    }
    let mut text = String::new();
    let mut context = Context::new(&mut program);
    let mut called: Vec<FunctionId> = Vec::new();
    for (number, lambda) in roots.iter().enumerate() {
        calls(&lambda.body, &mut called);
        let function = as_function(&mut context, lambda, &format!("f{}", number + 1));
        describe(&mut context, function, &mut text);
    }
    let mut at = 0;
    while let Some(function) = called.get(at).copied() {
        at += 1;
        if let Some(source) = context.program().functions.get(function.0 as usize) {
            calls(&source.body.clone(), &mut called);
        }
        describe(&mut context, function, &mut text);
    }
    text
}

/// The functions under derivative operators.
fn collect<'p>(block: &'p Block, roots: &mut Vec<&'p Lambda>) {
    for statement in &block.statements {
        if let Op::Differentiate(parts) = &statement.op
            && parts.mode.is_reverse()
        {
            roots.push(&parts.function);
        }
        statement.op.scopes().iter().for_each(|scope| collect(scope.block, roots));
    }
}

fn calls(block: &Block, called: &mut Vec<FunctionId>) {
    for statement in &block.statements {
        if let Op::Call { function, .. } = &statement.op
            && !called.contains(function)
        {
            called.push(*function);
        }
        statement.op.scopes().iter().for_each(|scope| calls(scope.block, called));
    }
}

/// A lambda as a function of the program, to be read: what it captures keeps its name.
fn as_function(context: &mut Context, lambda: &Lambda, name: &str) -> FunctionId {
    let copy = context.copy_lambda(lambda);
    let span = Default::default();
    let function = context.reserve(name.into(), copy.params.clone(), copy.results.clone(), span);
    context.b.program_mut().functions[function.0 as usize].body = copy.body;
    function
}

/// Writes `∂f` twice and `rev$f`.
fn describe(context: &mut Context, function: FunctionId, text: &mut String) {
    let Some(source) = context.program().functions.get(function.0 as usize).cloned() else { return };
    let lambda = Lambda { params: source.params.clone(), results: source.results.clone(), body: source.body.clone() };
    let active: Vec<bool> = lambda.params.iter().map(|param| context.carries(&param.ty)).collect();
    let inputs: Vec<Var> = lambda.params.iter().zip(&active).filter(|(_, active)| **active).map(|(param, _)| param.var).collect();
    let plain = super::differentiate::Differentiator::new(context, &lambda.body, inputs).block(&lambda.body);
    let mut laws = Simplifier::default();
    let simple = laws.derived(plain.clone());
    let before = context.program().functions.len();
    let reverse = reverse_function(context, &mut MapFunctions::default(), function);
    if let Some(error) = context.errors.pop() {
        let _ = writeln!(text, "-- {} has no derivative here: {}\n", source.name, error.message);
        context.errors.clear();
        return;
    }
    let program = context.program();
    let mut writer = Writer { program, text: String::new(), depth: 0, numbered: true };
    writer.derivative(&source.name, &lambda, &plain);
    match laws.used.is_empty() {
        true => writer.line("-- no law of linear maps applies"),
        false => writer.line(&format!("-- by the laws of linear maps {}", laws.used.join("; "))),
    }
    writer.derivative(&source.name, &lambda, &simple);
    let made = program.functions.get(before..).unwrap_or_default();
    let own = |name: &str| made.iter().find(|it| it.name == format!("{name}{}", source.name));
    if reverse.is_some() {
        ["rev$", "revf$", "revr$"].into_iter().filter_map(own).for_each(|function| writer.function(function));
    }
    text.push_str(&writer.text);
}

pub(super) struct Writer<'p> {
    pub program: &'p Program,
    pub text: String,
    pub depth: usize,
    /// Whether names have the number of the variable behind them, so that no two are the same.
    pub numbered: bool,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{:indent$}{text}", "", indent = 2 * self.depth);
    }

    pub fn var(&self, var: Var) -> String {
        match self.program.var_names.get(var.0 as usize).map(ToString::to_string) {
            Some(name) if !name.is_empty() && !self.numbered => name,
            Some(name) if !name.is_empty() => format!("{name}{}", var.0),
            _ => format!("t{}", var.0),
        }
    }

    pub fn atom(&self, atom: &Atom) -> String {
        match atom {
            Atom::Var(var) => self.var(*var),
            Atom::Const(constant) => number(constant),
        }
    }

    fn atoms(&self, atoms: &[Atom]) -> String {
        atoms.iter().map(|atom| self.atom(atom)).collect::<Vec<_>>().join(", ")
    }

    fn tuple(&self, atoms: &[Atom]) -> String {
        match atoms {
            [atom] => self.atom(atom),
            atoms => format!("({})", self.atoms(atoms)),
        }
    }

    fn binders(&self, binders: &[Binder]) -> String {
        let names: Vec<String> = binders.iter().map(|binder| self.var(binder.var)).collect();
        if names.len() == 1 { names.concat() } else { format!("({})", names.join(", ")) }
    }

    fn params(&self, params: &[Binder]) -> String {
        params.iter().map(|param| self.var(param.var)).collect::<Vec<_>>().join(", ")
    }

    fn derivative(&mut self, name: &str, lambda: &Lambda, derived: &Derived) {
        self.line(&format!("∂{name}({}) =", self.params(&lambda.params)));
        self.depth += 1;
        let ones: Vec<String> = lambda.params.iter().map(|param| format!("∂{}", self.var(param.var))).collect();
        if !ones.is_empty() {
            self.line(&format!("let {} = 1 in", ones.join(" × ")));
        }
        self.derived(derived);
        self.depth -= 1;
        self.text.push('\n');
    }

    /// The lines of a block with maps, and its map.
    pub fn derived(&mut self, derived: &Derived) {
        for line in &derived.lines {
            self.statement(&line.statement);
            if let Some(map) = &line.map {
                let names: Vec<String> =
                    line.statement.binders.iter().map(|binder| format!("∂{}", self.var(binder.var))).collect();
                let text = self.map(map);
                self.line(&format!("let {} = {text} in", names.join(" × ")));
            }
        }
        let map = self.map(&derived.map);
        self.line(&map);
    }

    /// A map; families go over several lines, the first of which continues the current one.
    pub fn map(&self, map: &Map) -> String {
        let join = |maps: &[Map], sign: &str| match maps.is_empty() {
            true => String::from("0"),
            false => maps.iter().map(|map| self.operand(map)).collect::<Vec<_>>().join(sign),
        };
        match map {
            Map::Zero => String::from("0"),
            Map::One => String::from("1"),
            Map::Of(var) => format!("∂{}", self.var(*var)),
            Map::Scale(factor) => format!("S({})", self.factor(factor)),
            Map::Convert { from, to } => format!("convert_{}_{}", from.name(), to.name()),
            Map::Compose(last, first) => format!("{} ∘ {}", self.operand(last), self.operand(first)),
            Map::Sum(maps) => join(maps, " ⊕ "),
            Map::VCat(maps) => join(maps, " × "),
            Map::HCat(maps) => join(maps, " ⋈ "),
            Map::VCatV(family) => self.family("V", family),
            Map::HCatV(family) => self.family("H", family),
            Map::Lambda(family) => self.lambda("L", family),
            Map::LambdaTransposed(family) => self.lambda("L'", family),
            Map::Transpose(map) => format!("{}ᵀ", self.operand(map)),
            Map::OneHot { array, indices } => match indices.as_slice() {
                [index] => format!("H(build(sz({}), λj. if {} = j then 1 else 0))", self.atom(array), self.atom(index)),
                indices => format!("onehot({}; {})", self.atom(array), self.atoms(indices)),
            },
            Map::Branch(branches) => {
                let mut text = match &branches.chosen {
                    Chosen::If(condition) => format!("if {} then", self.atom(condition)),
                    Chosen::Match(scrutinee) => format!("case {} of", self.atom(scrutinee)),
                };
                for (at, branch) in branches.branches.iter().enumerate() {
                    match (&branches.chosen, branch.tag) {
                        (Chosen::If(_), _) if at > 0 => text += &format!("\n{:indent$}else", "", indent = 2 * self.depth),
                        (Chosen::Match(_), Some(tag)) => {
                            let fields = self.params(&branch.binders);
                            text += &format!("\n{:indent$}in{tag}({fields}) →", "", indent = 2 * self.depth);
                        }
                        (Chosen::Match(_), None) => text += &format!("\n{:indent$}_ →", "", indent = 2 * self.depth),
                        _ => {}
                    }
                    if let Some(payload) = &branch.payload {
                        let names: Vec<String> =
                            branch.binders.iter().map(|binder| format!("∂{}", self.var(binder.var))).collect();
                        text += &format!(" let {} = {} in", names.join(" × "), self.map(payload));
                    }
                    text += &format!("\n{}", self.nested(&branch.body));
                }
                text
            }
            Map::Derivative { function, args, .. } => {
                let name = self.program.functions.get(function.0 as usize).map(|it| it.name.to_string()).unwrap_or_default();
                format!("∂{name}({})", self.atoms(args))
            }
            Map::Repeat(repeat) => {
                let form = match (repeat.is_fold, repeat.commutes) {
                    (true, _) => "lmFold",
                    (_, true) => "lmCcl",
                    _ => "lmTimes",
                };
                let (index, bound) = match &repeat.parts.form {
                    LoopForm::For { index, bound } => (self.var(index.var), self.atom(bound)),
                    LoopForm::While { .. } => (String::new(), String::new()),
                };
                let start: Vec<String> = repeat.initial.iter().map(|map| self.operand(map)).collect();
                let body = self.nested(&repeat.body);
                format!("{form}({bound}, λ{index} {}.\n{body}) ∘ ({})", self.params(&repeat.parts.carry), start.join(" × "))
            }
            Map::Linear(op) => format!("linear {}", operation_name(op)),
            Map::Payload { tag, .. } => format!("fields{tag}"),
            Map::Rule(_) => String::from("given"),
            Map::Accumulators(sums) => {
                let start: Vec<String> = sums.initial.iter().map(|map| self.operand(map)).collect();
                format!("sumInto({}, λ{}.\n{})", start.join(" × "), self.params(&sums.handles), self.nested(&sums.body))
            }
            Map::Added(handle) => format!("into {}", self.var(*handle)),
        }
    }

    fn operand(&self, map: &Map) -> String {
        let text = self.map(map);
        match map {
            Map::Compose(..) | Map::Sum(_) | Map::VCat(_) | Map::HCat(_) | Map::Branch(_) | Map::Repeat(_) | Map::Linear(_) => {
                format!("({text})")
            }
            _ => text,
        }
    }

    fn family(&self, sign: &str, family: &Family) -> String {
        let (mut open, mut close) = (String::new(), String::new());
        for Axis { var, size } in &family.space {
            open += &format!("{sign}(build({}, λ{}. ", self.atom(size), self.var(*var));
            close += "))";
        }
        match family.body.lines.is_empty() {
            true => format!("{open}{}{close}", self.map(&family.body.map)),
            false => format!("{}\n{}{close}", open.trim_end(), self.nested(&family.body)),
        }
    }

    fn lambda(&self, sign: &str, family: &Family) -> String {
        let index = family.space.first().map(|axis| self.var(axis.var)).unwrap_or_default();
        format!("{sign}(λ{index}. {})", self.map(&family.body.map))
    }

    /// A block with maps inside a map, without the end of its last line.
    fn nested(&self, derived: &Derived) -> String {
        let mut inner = Writer { program: self.program, text: String::new(), depth: self.depth + 1, numbered: self.numbered };
        inner.derived(derived);
        inner.text.trim_end().to_owned()
    }

    fn factor(&self, factor: &Factor) -> String {
        match factor {
            Factor::Atom(atom) => self.atom(atom),
            Factor::Partial { partial, operands, result, .. } => self.partial(partial, operands, result),
            Factor::Product(left, right) => format!("({} * {})", self.factor(left), self.factor(right)),
            Factor::Sum(left, right) => format!("({} + {})", self.factor(left), self.factor(right)),
        }
    }

    fn partial(&self, partial: &Partial, operands: &[Atom], result: &Atom) -> String {
        match partial {
            Partial::Operand(at) => operands.get(*at).map(|atom| self.atom(atom)).unwrap_or_default(),
            Partial::Result => self.atom(result),
            Partial::Constant(constant) => number(constant),
            Partial::Apply(op, parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.partial(part, operands, result)).collect();
                format!("{}({})", op.name(), parts.join(", "))
            }
            Partial::Select(parts) => {
                let [condition, then, otherwise] = parts.each_ref().map(|part| self.partial(part, operands, result));
                format!("(if {condition} then {then} else {otherwise})")
            }
        }
    }

    // ----------------------------------------------------------------------------------------------------- programs without maps

    fn function(&mut self, function: &chadwick_core::Function) {
        self.line(&format!("{}({}) =", function.name, self.params(&function.params)));
        self.block(&function.body);
        self.text.push('\n');
    }

    fn block(&mut self, block: &Block) {
        self.depth += 1;
        block.statements.iter().for_each(|statement| self.statement(statement));
        let results = self.tuple(&block.results);
        self.line(&results);
        self.depth -= 1;
    }

    /// A block inside a term, without the end of its last line.
    fn block_text(&self, block: &Block) -> String {
        let mut inner = Writer { program: self.program, text: String::new(), depth: self.depth, numbered: self.numbered };
        inner.block(block);
        format!("\n{}", inner.text.trim_end())
    }

    pub fn statement(&mut self, statement: &Statement) {
        let text = self.op(&statement.op);
        match statement.binders.is_empty() {
            true => self.line(&format!("{text};")),
            false => self.line(&format!("let {} = {text} in", self.binders(&statement.binders))),
        }
    }

    fn build(&self, space: &[Axis], body: &Block) -> String {
        let open: String =
            space.iter().map(|Axis { var, size }| format!("build({}, λ{}. ", self.atom(size), self.var(*var))).collect();
        format!("{}{}{}", open.trim_end(), self.block_text(body), ")".repeat(space.len()))
    }

    fn op(&self, op: &Op) -> String {
        let indent = format!("\n{:indent$}", "", indent = 2 * self.depth);
        match op {
            Op::Copy(atoms) => self.tuple(atoms),
            Op::Prim(op, args) => format!("{}({})", op.name(), self.atoms(args)),
            Op::Call { function, args } => {
                let name = self.program.functions.get(function.0 as usize).map(|it| it.name.to_string()).unwrap_or_default();
                format!("{name}({})", self.atoms(args))
            }
            Op::If { condition, then, otherwise } => {
                format!("if {} then{}{indent}else{}", self.atom(condition), self.block_text(then), self.block_text(otherwise))
            }
            Op::Match { scrutinee, arms, otherwise } => {
                let mut text = format!("case {} of", self.atom(scrutinee));
                for arm in arms {
                    text += &format!("{indent}in{}({}) →{}", arm.tag, self.params(&arm.binders), self.block_text(&arm.body));
                }
                if let Some(block) = otherwise {
                    text += &format!("{indent}_ →{}", self.block_text(block));
                }
                text
            }
            Op::Construct { tag, args, .. } => format!("in{tag}({})", self.atoms(args)),
            Op::Build { space, body, .. } => self.build(space, body),
            Op::Reduce { space, op, body, .. } if op.is_addition() => format!("sum({})", self.build(space, body)),
            Op::Index { array, indices } => format!("{}[{}]", self.atom(array), self.atoms(indices)),
            Op::Dim { array, axis: 0 } => format!("sz({})", self.atom(array)),
            Op::Loop(parts) => {
                let (index, bound) = match &parts.form {
                    LoopForm::For { index, bound } => (self.var(index.var), self.atom(bound)),
                    LoopForm::While { .. } => (String::new(), String::new()),
                };
                let (carry, start) = (self.params(&parts.carry), self.tuple(&parts.initial));
                format!("nTimes({bound}, {start}, λ{index} {carry}.{})", self.block_text(&parts.body))
            }
            Op::WithAccumulators { handles, init, body } => {
                format!("sumInto({}, λ{}.{})", self.atoms(init), self.params(handles), self.block_text(body))
            }
            Op::Accumulate { handle, path, value } => {
                let path: String = path.iter().map(|step| self.step(step)).collect();
                format!("{}{path} += {}", self.atom(handle), self.atom(value))
            }
            other => {
                let statements = vec![Statement { binders: Vec::new(), op: other.clone(), span: Default::default() }];
                let block = Block { statements, results: Vec::new() };
                let text = chadwick_core::text::print_block(self.program, &block);
                let lines = text.lines().map(str::trim).filter(|line| !matches!(*line, "{" | "}" | "return"));
                lines.collect::<Vec<_>>().join(" ").trim_start_matches("= ").to_owned()
            }
        }
    }

    fn step(&self, step: &PathStep) -> String {
        match step {
            PathStep::Index(indices) => format!("[{}]", self.atoms(indices)),
            PathStep::Slice(dims) => {
                let dims: Vec<String> = dims
                    .iter()
                    .map(|dim| match dim {
                        SliceDim::Index(index) => self.atom(index),
                        SliceDim::Range { start, count, .. } => format!("{} for {}", self.atom(start), self.atom(count)),
                    })
                    .collect();
                format!("[{}]", dims.join(", "))
            }
            PathStep::Payload { tag, field } => format!(".in{tag}.{field}"),
        }
    }
}

/// What an operation is called, without its operands.
pub(super) fn operation_name(op: &Op) -> String {
    match op {
        Op::Prim(op, _) => op.name(),
        Op::Call { function, .. } => format!("f{}", function.0),
        Op::Slice { .. } => String::from("slice"),
        Op::Index { .. } => String::from("ixR"),
        Op::Dim { .. } => String::from("sz"),
        Op::Update { .. } => String::from("update"),
        Op::Transpose { .. } => String::from("transpose"),
        Op::Reshape { .. } => String::from("reshape"),
        Op::Concat { .. } => String::from("concat"),
        Op::ArrayLiteral { .. } => String::from("array"),
        Op::Construct { tag, .. } => format!("in{tag}"),
        Op::Assert { .. } => String::from("assert"),
        Op::Loop(_) => String::from("LOOP"),
        Op::Match { .. } => String::from("CASE"),
        Op::Reduce { .. } => String::from("FOLD"),
        Op::Scan { .. } => String::from("SCAN"),
        Op::Par { .. } => String::from("PAR"),
        _ => String::from("built-in"),
    }
}

/// A constant without its type.
pub(super) fn number(constant: &Const) -> String {
    let text = format!("{constant:?}");
    match (text.find('('), text.rfind(')')) {
        (Some(open), Some(close)) => text[open + 1..close].to_owned(),
        _ => text,
    }
}
