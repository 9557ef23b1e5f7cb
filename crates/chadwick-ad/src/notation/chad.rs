//! The notation of the papers on CHAD: `<x, x'>` is a value and its backpropagator, `one_x` contributes to a variable. By definition environments
//! are added, in efficient CHAD contributions follow each other, and `take x` ends the scope of a variable. Forwards `D` is written `D→`, and `t.x` is
//! the tangent of a variable.

use super::{Style, Writer};
use chadwick_core::{Atom, Block, Lambda, Op, Statement, Var};

impl Writer<'_> {
    pub(super) fn chad_function(&mut self, name: &str, params: &str, lambda: &Lambda) {
        self.line(&format!("{}[{name}] = \\({params}). let", self.transformation()));
        self.chad_block(&lambda.body);
        self.text.push('\n');
    }

    fn transformation(&self) -> &'static str {
        if self.forward { "D→" } else { "D" }
    }

    /// The tangents of atoms.
    fn tangents(&self, atoms: &[Atom]) -> String {
        let tangent = |atom: &Atom| if self.is_active(atom) { format!("t.{}", self.atom(atom)) } else { String::from("0") };
        atoms.iter().map(tangent).collect::<Vec<_>>().join(", ")
    }

    fn is_efficient(&self) -> bool {
        self.style == Style::ChadEfficient
    }

    /// Contributions, one after the other or added.
    fn contributions(&self, all: &[String]) -> String {
        match (self.is_efficient(), all) {
            (true, []) => String::from("return ()"),
            (false, []) => String::from("0"),
            (true, all) => format!("do {}", all.join("; ")),
            (false, all) => all.join(" + "),
        }
    }

    /// `<x, x'>`
    fn pair(&self, vars: &[Var]) -> String {
        let names: Vec<String> = vars.iter().map(|var| self.var(*var)).collect();
        match self.active_names(vars).is_empty() {
            true => names.join(", "),
            false => format!("<{}, {}>", names.join(", "), self.back(vars)),
        }
    }

    /// The name of the backpropagator of what a statement binds.
    fn back(&self, vars: &[Var]) -> String {
        format!("{}'", self.active_names(vars).first().cloned().unwrap_or_default())
    }

    fn active_names(&self, vars: &[Var]) -> Vec<String> {
        vars.iter().filter(|var| self.active.contains(var)).map(|var| self.var(*var)).collect()
    }

    fn chad_block(&mut self, block: &Block) {
        self.depth += 1;
        block.statements.iter().for_each(|statement| self.chad_statement(statement));
        let results = self.atoms(&block.results);
        let derivative = match self.forward {
            true => format!("\\t. {}", self.forward_derivative(block)),
            false => format!("\\d. {}", self.reverse_derivative(block)),
        };
        self.line(&format!("in <{results}, {derivative}>"));
        self.depth -= 1;
    }

    /// What the derivative of a block does with tangents of the environment.
    fn forward_derivative(&self, block: &Block) -> String {
        let mut steps = Vec::new();
        for statement in &block.statements {
            let vars: Vec<Var> = statement.binders.iter().map(|binder| binder.var).collect();
            let names: Vec<String> = self.active_names(&vars).into_iter().map(|name| format!("t.{name}")).collect();
            if !names.is_empty() {
                steps.push(format!("{} = {} t", names.join(", "), self.back(&vars)));
            }
        }
        let active: Vec<Atom> = block.results.iter().filter(|result| self.is_active(result)).cloned().collect();
        let results = if active.is_empty() { String::from("0") } else { self.tangents(&active) };
        if steps.is_empty() { results } else { format!("let {} in {results}", steps.join("; ")) }
    }

    /// And with cotangents of the results.
    fn reverse_derivative(&self, block: &Block) -> String {
        let active: Vec<&Atom> = block.results.iter().filter(|result| self.is_active(result)).collect();
        let numbered = active.len() > 1;
        let one = |(at, result): (usize, &&Atom)| {
            let number = if numbered { (at + 1).to_string() } else { String::new() };
            format!("one_{} d{number}", self.atom(result))
        };
        let start: Vec<String> = active.iter().enumerate().map(one).collect();
        let mut steps = Vec::new();
        for statement in block.statements.iter().rev() {
            let vars: Vec<Var> = statement.binders.iter().map(|binder| binder.var).collect();
            let names = self.active_names(&vars);
            if !names.is_empty() {
                steps.push((self.back(&vars), names));
            }
        }
        match self.is_efficient() {
            true => {
                let take = |(back, names): &(String, Vec<String>)| format!("{back} =<< take {}", names.join(" "));
                let all: Vec<String> = start.into_iter().chain(steps.iter().map(take)).collect();
                self.contributions(&all)
            }
            false if steps.is_empty() => self.contributions(&start),
            false => {
                let mut text = format!("let e = {}", self.contributions(&start));
                for (back, names) in &steps {
                    let names: Vec<String> = names.iter().map(|name| format!("e.{name}")).collect();
                    text.push_str(&format!("; e = e + {back} {}", names.join(" ")));
                }
                format!("{text} in e")
            }
        }
    }

    fn chad_statement(&mut self, statement: &Statement) {
        let vars: Vec<Var> = statement.binders.iter().map(|binder| binder.var).collect();
        let bound = self.pair(&vars);
        let is_active = !self.active_names(&vars).is_empty();
        match &statement.op {
            Op::Prim(op, args) => {
                let value = format!("{}({})", op.name(), self.atoms(args));
                if !is_active {
                    self.line(&format!("{bound} = {value}"));
                    return;
                }
                let name = vars.first().map(|var| self.var(*var)).unwrap_or_default();
                if self.forward {
                    let part = |(partial, of): (String, String)| format!("{partial} * t.{of}");
                    let parts: Vec<String> = self.through(&name, *op, args).into_iter().map(part).collect();
                    self.line(&format!("{bound} = <{value}, \\t. {}>", self.contributions(&parts)));
                    return;
                }
                let one = |(partial, of): (String, String)| format!("one_{of} ({partial} * d)");
                let parts: Vec<String> = self.through(&name, *op, args).into_iter().map(one).collect();
                let parts = self.contributions(&parts);
                self.line(&format!("{bound} = <{value}, \\d. {parts}>"));
            }
            Op::Copy(atoms) => {
                let value = self.atoms(atoms);
                let active: Vec<Atom> = atoms.iter().filter(|atom| self.is_active(atom)).cloned().collect();
                let ones: Vec<String> = active.iter().map(|atom| format!("one_{} d", self.atom(atom))).collect();
                self.line(&match is_active {
                    true if self.forward => format!("{bound} = <{value}, \\t. {}>", self.tangents(&active)),
                    true => format!("{bound} = <{value}, \\d. {}>", self.contributions(&ones)),
                    false => format!("{bound} = {value}"),
                });
            }
            Op::Call { function, args } => {
                let name = self.program.functions.get(function.0 as usize).map(|it| it.name.to_string()).unwrap_or_default();
                let values = self.atoms(args);
                self.line(&match is_active {
                    true => format!("{bound} = {}[{name}]({values})", self.transformation()),
                    false => format!("{bound} = {name}({values})"),
                });
            }
            Op::Construct { tag, args, .. } => {
                let values = self.atoms(args);
                if !is_active {
                    self.line(&format!("{bound} = in{tag} ({values})"));
                    return;
                }
                if self.forward {
                    self.line(&format!("{bound} = <in{tag} ({values}), \\t. in{tag} ({})>", self.tangents(args)));
                    return;
                }
                let one = |(at, arg): (usize, &Atom)| format!("one_{} (cast{tag} d).{at}", self.atom(arg));
                let ones: Vec<String> = args.iter().enumerate().filter(|(_, arg)| self.is_active(arg)).map(one).collect();
                let ones = self.contributions(&ones);
                self.line(&format!("{bound} = <in{tag} ({values}), \\d. {ones}>"));
            }
            Op::Index { array, indices } if is_active => {
                let (array, indices) = (self.atom(array), self.atoms(indices));
                let derivative = match self.forward {
                    true => format!("\\t. t.{array} ! ({indices})"),
                    false => format!("\\d. one_{array} [({indices}, d)]"),
                };
                self.line(&format!("{bound} = <{array} ! ({indices}), {derivative}>"));
            }
            Op::Build { space, body, .. } if is_active => {
                let axes: Vec<String> = space.iter().map(|axis| self.var(axis.var)).collect();
                let sizes: Vec<String> = space.iter().map(|axis| self.atom(&axis.size)).collect();
                self.line(&format!("{bound} = unzip build ({}) (\\{}. let", sizes.join(", "), axes.join(" ")));
                self.chad_block(body);
                self.line(")");
            }
            Op::If { condition, then, otherwise } => {
                let condition = self.atom(condition);
                self.line(&format!("{bound} = if {condition} then let"));
                self.chad_block(then);
                self.line("else let");
                self.chad_block(otherwise);
            }
            Op::Match { scrutinee, arms, otherwise } => {
                let flows = self.is_active(scrutinee);
                let scrutinee = self.atom(scrutinee);
                self.line(&format!("{bound} = case {scrutinee} of"));
                for arm in arms {
                    let fields: Vec<String> = arm.binders.iter().map(|binder| self.var(binder.var)).collect();
                    let fields = fields.join(", ");
                    let through = match (flows, self.forward) {
                        (false, _) => String::new(),
                        (true, true) => format!(", with t.({fields}) = cast{} t.{scrutinee}", arm.tag),
                        (true, false) => format!(", then one_{scrutinee} (in{} (d{fields}))", arm.tag),
                    };
                    self.line(&format!("in{} ({fields}) -> let{through}", arm.tag));
                    self.chad_block(&arm.body);
                }
                if let Some(block) = otherwise {
                    self.line("_ -> let");
                    self.chad_block(block);
                }
            }
            Op::Closure(lambda) => {
                let params: Vec<String> = lambda.params.iter().map(|param| self.var(param.var)).collect();
                let params = params.join(", ");
                self.line(&format!("{bound} = let f = \\({params}). let"));
                self.chad_block(&lambda.body);
                self.depth += 1;
                let (by_argument, by_captured) = match self.forward {
                    true => ("\\t. y' (0, t)", format!("\\t. \\({params}). snd (f ({params})) (t, 0)")),
                    false => ("\\d. snd (y' d)", format!("\\d. copowfold (\\({params}) d. fst (snd (f ({params})) d)) d")),
                };
                self.line(&format!("in <\\({params}). let <y, y'> = f ({params}) in <y, {by_argument}>,"));
                self.line(&format!(" {by_captured}>"));
                self.depth -= 1;
            }
            Op::Apply { function, args } => {
                let values = self.atoms(args);
                if self.forward {
                    let (function, tangents) = (self.atom(function), self.tangents(args));
                    let derivative = format!("\\t. t.{function} ({values}) + y' ({tangents})");
                    self.line(&format!("{bound} = let <y, y'> = {function} ({values}) in <y, {derivative}>"));
                    return;
                }
                let mut ones = vec![format!("one_{} [(({values}), d)]", self.atom(function))];
                let through = args.iter().filter(|arg| self.is_active(arg)).map(|arg| format!("one_{} (y' d)", self.atom(arg)));
                ones.extend(through);
                let (function, ones) = (self.atom(function), self.contributions(&ones));
                self.line(&format!("{bound} = let <y, y'> = {function} ({values}) in <y, \\d. {ones}>"));
            }
            _ => self.as_core(statement),
        }
    }
}
