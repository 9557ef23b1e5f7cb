//! Reads the clock between the lines of a program, to tell how long each takes.
//!
//! The clock is read where control passes from one line to another, but never inside a loop that the language does not write as one: a `map`
//! runs whole, with all that is fused into it, on the account of the line where it starts. Loops of the program are gone into if there is
//! something in them that takes longer than reading the clock, and so are functions that are called from such places only.

use crate::ir::{Exp, Function, Stm};
use rustc_hash::FxHashMap;

/// Adds the readings; gives the lines by number. The first one stands for everything else.
pub fn instrument(functions: &mut [(usize, Function)], roots: &[usize], recursive: &[bool]) -> Vec<String> {
    let entered = entered_functions(functions, roots, recursive);
    let mut lines = Lines { texts: vec![String::new()], numbers: FxHashMap::default(), entered: &entered };
    for (number, function) in functions.iter_mut().filter(|(number, _)| entered.contains(number)) {
        let start = match function.comment.as_str() {
            "" => 0,
            comment => lines.number(comment),
        };
        let mut body = vec![lap(start)];
        body.extend(lines.stms(std::mem::take(&mut function.body), start));
        if roots.contains(number) {
            body.push(lap(0));
        }
        function.body = body;
    }
    lines.texts
}

fn lap(line: i64) -> Stm {
    Stm::Run("cw_lap", vec![Exp::Context, Exp::i64(line)])
}

/// The functions that are called from places alone where the clock is read.
fn entered_functions(functions: &[(usize, Function)], roots: &[usize], recursive: &[bool]) -> Vec<usize> {
    let mut calls: Vec<(usize, usize, bool)> = Vec::new();
    for (number, function) in functions {
        collect_calls(&function.body, true, &mut |callee, open| calls.push((*number, callee, open)));
    }
    let is_recursive = |number: usize| recursive.get(number).copied().unwrap_or(true);
    let mut entered: Vec<usize> = functions.iter().map(|(number, _)| *number).filter(|number| !is_recursive(*number)).collect();
    loop {
        let known = entered.clone();
        let kept = |number: usize| {
            let mut from = calls.iter().filter(|(_, callee, _)| *callee == number);
            roots.contains(&number) || from.all(|(caller, _, open)| *open && known.contains(caller))
        };
        entered.retain(|number| kept(*number));
        if entered.len() == known.len() {
            return entered;
        }
    }
}

/// Every call, and whether the clock is read around it.
fn collect_calls(stms: &[Stm], open: bool, found: &mut dyn FnMut(usize, bool)) {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        for stm in stms {
            match stm {
                Stm::Call { function, .. } => found(*function, open),
                Stm::For { body, .. } | Stm::Forever(body) => collect_calls(body, open && is_gone_into(body), found),
                Stm::Parallel(parallel) => collect_calls(&parallel.body, false, found),
                Stm::Fork(fork) => [&fork.left, &fork.right].into_iter().for_each(|stms| collect_calls(stms, false, found)),
                Stm::If { then, otherwise, .. } => {
                    collect_calls(then, open, found);
                    collect_calls(otherwise, open, found);
                }
                Stm::Switch { cases, otherwise, .. } => {
                    cases.iter().for_each(|(_, stms)| collect_calls(stms, open, found));
                    collect_calls(otherwise, open, found);
                }
                _ => {}
            }
        }
    });
}

/// Whether the body is that of a loop of the program, with more than scalars in it.
fn is_gone_into(body: &[Stm]) -> bool {
    body.iter().any(|stm| matches!(stm, Stm::Tick(_))) && takes_long(body)
}

fn takes_long(stms: &[Stm]) -> bool {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
        stms.iter().any(|stm| match stm {
            Stm::For { .. } | Stm::Forever(_) | Stm::Parallel(_) | Stm::Fork(_) => true,
            Stm::Call { .. } | Stm::CopyElements { .. } => true,
            Stm::If { then, otherwise, .. } => takes_long(then) || takes_long(otherwise),
            Stm::Switch { cases, otherwise, .. } => cases.iter().any(|(_, stms)| takes_long(stms)) || takes_long(otherwise),
            _ => false,
        })
    })
}

struct Lines<'a> {
    texts: Vec<String>,
    numbers: FxHashMap<String, i64>,
    entered: &'a [usize],
}

impl Lines<'_> {
    fn number(&mut self, text: &str) -> i64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as i64;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    fn stms(&mut self, stms: Vec<Stm>, mut line: i64) -> Vec<Stm> {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let mut out = Vec::with_capacity(stms.len());
            for stm in stms {
                match stm {
                    Stm::Comment(text) => {
                        line = self.number(&text);
                        out.extend([Stm::Comment(text), lap(line)]);
                    }
                    Stm::Call { function, .. } if self.entered.contains(&function) => out.extend([stm, lap(line)]),
                    Stm::For { index, bound, body, mark, independent } if is_gone_into(&body) => {
                        let body = self.inside(body, line);
                        out.extend([Stm::For { index, bound, body, mark, independent }, lap(line)]);
                    }
                    Stm::Forever(body) if is_gone_into(&body) => {
                        let body = self.inside(body, line);
                        out.extend([Stm::Forever(body), lap(line)]);
                    }
                    Stm::If { condition, then, otherwise } if takes_long(&then) || takes_long(&otherwise) => {
                        let (then, otherwise) = (self.stms(then, line), self.stms(otherwise, line));
                        out.extend([Stm::If { condition, then, otherwise }, lap(line)]);
                    }
                    Stm::Switch { tag, cases, otherwise } => {
                        let cases = cases.into_iter().map(|(value, stms)| (value, self.stms(stms, line))).collect();
                        let otherwise = self.stms(otherwise, line);
                        out.extend([Stm::Switch { tag, cases, otherwise }, lap(line)]);
                    }
                    other => out.push(other),
                }
            }
            out
        })
    }

    fn inside(&mut self, body: Vec<Stm>, line: i64) -> Vec<Stm> {
        let mut out = vec![lap(line)];
        out.extend(self.stms(body, line));
        out
    }
}
