//! A derivative in the notation of the chapter, at every stage: the term, the term without builds, the primal values with the `Delta`, and
//! the gradient.

use super::delta::{Delta, DeltaNode, DualArray};
use super::staged::Staged;
use super::term::{Elementwise, IndexFunction, Name, Term, Tree};
use super::{Derived, Gradient, Program};
use crate::context::Context;
use crate::notation::reverse_derivatives;
use chadwick_core::{Atom, Const, Lambda};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::rc::Rc;

/// The functions that are differentiated in reverse.
pub(crate) fn in_notation(prepared: &chadwick_core::Program) -> String {
    let mut roots = Vec::new();
    prepared.functions.iter().for_each(|function| reverse_derivatives(&function.body, &mut roots));
    let mut program = prepared.clone();
    let mut context = Context::new(&mut program);
    let mut text = String::new();
    for (number, root) in roots.iter().enumerate() {
        let lambda = context.copy_lambda(&root.function);
        describe(&mut context, &lambda, number + 1, &mut text);
    }
    text
}

fn describe(context: &mut Context, lambda: &Lambda, number: usize, text: &mut String) {
    let Some(derived) = Derived::new(context, lambda, Default::default()) else {
        let problem = context.errors.pop().map(|error| error.message).unwrap_or_default();
        context.errors.clear();
        let _ = writeln!(text, "-- function {number} has no derivative here: {problem}\n");
        return;
    };
    let gradient = derived.gradient();
    let (program, shares) = (Some(context.program()), &gradient.shares);
    let mut writer = Writer { program, shares, text: String::new(), written: FxHashSet::default() };
    writer.derivation(&derived, &gradient, number);
    text.push_str(&writer.text);
}

/// The inputs, the bindings and the results.
impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shares = BTreeMap::new();
        let mut writer = Writer { program: None, shares: &shares, text: String::new(), written: FxHashSet::default() };
        let inputs: Vec<String> = self.inputs.iter().map(|(name, _)| variable(*name)).collect();
        let _ = writeln!(writer.text, "\\{}.", inputs.join(", "));
        writer.lines(&self.bindings);
        writer.results(&self.results);
        f.write_str(&writer.text)
    }
}

struct Writer<'p> {
    /// Has the names of what stands around.
    program: Option<&'p chadwick_core::Program>,
    /// What became of shares in terms.
    shares: &'p BTreeMap<usize, Name>,
    text: String,
    /// Shares that stand there already.
    written: FxHashSet<usize>,
}

impl Writer<'_> {
    fn derivation(&mut self, derived: &Derived, gradient: &Gradient, number: usize) {
        let inputs: Vec<String> = derived.source.inputs.iter().map(|(name, _)| variable(*name)).collect();
        let inputs = inputs.join(", ");
        let _ = writeln!(self.text, "f{number}({inputs}) =");
        self.lines(&derived.source.bindings);
        self.results(&derived.source.results);
        let _ = writeln!(self.text, "\n-- without builds\nf{number}({inputs}) =");
        self.lines(&derived.normal.bindings);
        self.results(&derived.normal.results);
        let _ = writeln!(self.text, "\n-- primal values, and Delta\nD[f{number}]({inputs}) =");
        self.lines(&gradient.primal_bindings);
        let duals: Vec<String> = derived.results.iter().map(|result| self.dual(result)).collect();
        let _ = writeln!(self.text, "  {}", duals.join(", "));
        let seeds: Vec<String> = gradient.seeds.iter().copied().map(variable).collect();
        let _ = writeln!(self.text, "\n-- the gradient\nrev$f{number}({inputs}; {}) =", seeds.join(", "));
        self.lines(&gradient.primal_bindings);
        self.lines(&gradient.bindings);
        let mut results: Vec<String> = gradient.primals.iter().map(|primal| self.tree(primal)).collect();
        let given = derived.is_input.iter().zip(&gradient.results).filter(|(is_input, _)| **is_input);
        results.extend(given.map(|(_, tree)| tree.as_ref().map_or(String::from("0"), |tree| self.tree(tree))));
        let _ = writeln!(self.text, "  {}\n", results.join(", "));
    }

    fn lines(&mut self, bindings: &[(Name, Tree)]) {
        for (name, tree) in bindings {
            let line = format!("  let {} = {} in\n", variable(*name), self.tree(tree));
            self.text.push_str(&line);
        }
    }

    fn results(&mut self, results: &[Tree]) {
        let results: Vec<String> = results.iter().map(|tree| self.tree(tree)).collect();
        let _ = writeln!(self.text, "  {}", results.join(", "));
    }

    fn dual(&mut self, result: &DualArray<Staged>) -> String {
        format!("({}, {})", self.tree(&result.primal), self.delta(result.delta.as_ref()))
    }

    fn atom(&self, atom: &Atom) -> String {
        match atom {
            Atom::Const(Const::I64(number)) => number.to_string(),
            Atom::Const(Const::F64(number)) => number.to_string(),
            Atom::Const(Const::F32(number)) => number.to_string(),
            Atom::Const(constant) => format!("{constant:?}"),
            Atom::Var(var) => {
                let name =
                    self.program.and_then(|program| program.var_names.get(var.0 as usize)).map_or("", |name| name.as_str());
                format!("{}{}", if name.is_empty() { "n" } else { name }, var.0)
            }
        }
    }

    fn atoms(&self, atoms: &[Atom]) -> String {
        let atoms: Vec<String> = atoms.iter().map(|atom| self.atom(atom)).collect();
        format!("[{}]", atoms.join(", "))
    }

    fn trees(&mut self, trees: &[Tree]) -> String {
        let trees: Vec<String> = trees.iter().map(|tree| self.tree(tree)).collect();
        trees.join(", ")
    }

    fn function(&mut self, function: &IndexFunction) -> String {
        let params: Vec<String> = function.params.iter().copied().map(variable).collect();
        format!("(\\[{}]. [{}])", params.join(", "), self.trees(&function.indices))
    }

    fn tree(&mut self, tree: &Tree) -> String {
        let first = tree.shape.first().map_or(String::new(), |extent| self.atom(extent));
        match &tree.term {
            Term::Outer(atom) => self.atom(atom),
            Term::Var(name) => variable(*name),
            Term::Let(name, value, body) => format!("(let {} = {} in {})", variable(*name), self.tree(value), self.tree(body)),
            Term::Elementwise(Elementwise::Prim(op), args) => format!("{}({})", op.name(), self.trees(args)),
            Term::Elementwise(Elementwise::Guarded(op), args) => format!("{}.guard({})", op.name(), self.trees(args)),
            Term::Elementwise(Elementwise::Select, args) => format!("cond({})", self.trees(args)),
            Term::Elementwise(Elementwise::Partial(op, at), args) => {
                let operands = &args[..args.len().saturating_sub(1)];
                format!("∂{}.{}({})", at + 1, op.name(), self.trees(operands))
            }
            Term::Iota => format!("[0 .. {first} - 1]"),
            Term::Index(base, indices, _) => format!("index {} [{}]", self.tree(base), self.trees(indices)),
            Term::SumOuter(of) => format!("sumOuter ({})", self.tree(of)),
            Term::ReduceOuter(op, of) => format!("{op:?}Outer ({})", self.tree(of)).to_lowercase().replacen("outer", "Outer", 1),
            Term::Gather(base, function, _) => {
                format!("gather {} ({}) {}", self.atoms(&tree.shape), self.tree(base), self.function(function))
            }
            Term::Scatter(of, function) => {
                format!("scatter {} ({}) {}", self.atoms(&tree.shape), self.tree(of), self.function(function))
            }
            Term::Overwrite { base, at, value, .. } => {
                format!("({} with {} = {})", self.tree(base), self.function(at), self.tree(value))
            }
            Term::Stack(rows) => format!("[{}]", self.trees(rows)),
            Term::Replicate(of) => format!("replicate {first} ({})", self.tree(of)),
            Term::Transpose(permutation, of) => format!("tr_{permutation:?} ({})", self.tree(of)),
            Term::Reshape(of) => format!("reshape {} ({})", self.atoms(&tree.shape), self.tree(of)),
            Term::Build(name, body) => format!("build1 {first} (\\{}. {})", variable(*name), self.tree(body)),
            Term::Fold(step, init, arrays) => {
                let rows: Vec<String> = step.rows.iter().map(|(name, _)| variable(*name)).collect();
                let (name, state) = (if step.is_backward { "foldr" } else { "foldl" }, variable(step.state));
                let body = self.tree(&step.body);
                format!("{name} (\\{state} {}. {body}) ({}) [{}]", rows.join(" "), self.tree(init), self.trees(arrays))
            }
            Term::Walk(step, init, arrays) => {
                let rows: Vec<String> = step.rows.iter().map(|(name, _)| variable(*name)).collect();
                let (name, state) = (if step.is_backward { "walkr" } else { "walkl" }, variable(step.state));
                let bound = |(name, value): &(Name, Tree)| format!("let {} = {} in ", variable(*name), self.tree(value));
                let bindings: String = step.bindings.iter().map(bound).collect();
                let results: Vec<String> = std::iter::once(&step.body).chain(&step.gives).map(|tree| self.tree(tree)).collect();
                let body = format!("{bindings}({})", results.join(", "));
                format!("{name} (\\{state} {}. {body}) ({}) [{}]", rows.join(" "), self.tree(init), self.trees(arrays))
            }
            Term::Given(number, walk) => format!("given {} ({})", number + 1, self.tree(walk)),
            Term::Share(number, of) => match self.shares.get(number) {
                Some(name) => variable(*name),
                None => self.tree(of),
            },
        }
    }

    fn delta(&mut self, delta: Option<&Rc<Delta<Staged>>>) -> String {
        let Some(delta) = delta else { return String::from("Zero") };
        let inner = |writer: &mut Self, delta: &Rc<Delta<Staged>>| format!("({})", writer.delta(Some(delta)));
        match &delta.node {
            DeltaNode::Input(number) => format!("Input {}", number + 1),
            DeltaNode::Add(left, right) => format!("Add {} {}", inner(self, left), inner(self, right)),
            DeltaNode::Scale(factor, of) => format!("Scale {} {}", self.tree(factor), inner(self, of)),
            DeltaNode::Negate(of) => format!("Negate {}", inner(self, of)),
            DeltaNode::Convert(of) => format!("Convert {}", inner(self, of)),
            DeltaNode::Where(condition, holds, of) => {
                format!("Where {}{} {}", if *holds { "" } else { "not " }, self.tree(condition), inner(self, of))
            }
            DeltaNode::Share(number, of) => match self.written.insert(*number) {
                true => format!("Share {number} {}", inner(self, of)),
                false => format!("Share {number} (..)"),
            },
            DeltaNode::Index(of, indices, _) => format!("Index {} [{}]", inner(self, of), self.trees(indices)),
            DeltaNode::SumOuter(of) => format!("SumOuter {}", inner(self, of)),
            DeltaNode::Gather(of, function) => format!("Gather {} {}", inner(self, of), self.function(function)),
            DeltaNode::Scatter(of, function) => format!("Scatter {} {}", inner(self, of), self.function(function)),
            DeltaNode::Overwrite { base, at, value, .. } => {
                let (base, value) = (self.delta(base.as_ref()), self.delta(value.as_ref()));
                format!("Overwrite ({base}) {} ({value})", self.function(at))
            }
            DeltaNode::Stack(rows) => {
                let rows: Vec<String> = rows.iter().map(|row| self.delta(row.as_ref())).collect();
                format!("LitArray [{}]", rows.join(", "))
            }
            DeltaNode::Fold(fold) => {
                let arrays: Vec<String> = fold.arrays.iter().map(|array| self.delta(array.delta.as_ref())).collect();
                format!("Fold ({}) [{}]", self.delta(fold.init.as_ref()), arrays.join(", "))
            }
            DeltaNode::Replicate(of) => format!("Replicate {}", inner(self, of)),
            DeltaNode::Transpose(permutation, of) => format!("Transpose_{permutation:?} {}", inner(self, of)),
            DeltaNode::Reshape(of) => format!("Reshape {}", inner(self, of)),
        }
    }
}

fn variable(name: Name) -> String {
    format!("x{}", name.0)
}
