//! Programs that are nearly well typed.

use crate::exp::{Exp, Part};
use crate::program::Program;
use crate::random::Random;

impl Program {
    /// The program with an expression in place of another one, usually of another type: it still parses, but rarely checks.
    pub fn disturbed(&self, random: &mut Random) -> Program {
        let mut program = self.clone();
        let body = &mut program.function.body;
        let count = body.size();
        let (target, source) = (1 + random.below(count - 1), random.below(count));
        let Some(replacement) = nth(body, &mut { source }).cloned() else { return program };
        replace(body, &mut { target }, &replacement);
        program
    }
}

/// The node with a number, counted from the outside in.
fn nth<'e>(exp: &'e Exp, number: &mut usize) -> Option<&'e Exp> {
    if *number == 0 {
        return Some(exp);
    }
    *number -= 1;
    exp.children().find_map(|child| nth(child, number))
}

fn replace(exp: &mut Exp, number: &mut usize, replacement: &Exp) -> bool {
    if *number == 0 {
        *exp = replacement.clone();
        return true;
    }
    *number -= 1;
    exp.parts.iter_mut().any(|part| match part {
        Part::Exp(child) => replace(child, number, replacement),
        _ => false,
    })
}
