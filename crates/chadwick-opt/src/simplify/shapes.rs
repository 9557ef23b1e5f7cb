//! Carried arrays that keep their shape: whoever asks for their sizes in the loop, or after it, is told those from before.

use super::Simplify;
use chadwick_core::{Atom, Block, Loop, Op, Statement};

/// How many loops inside one another are looked through.
const DEEPEST: usize = 3;

type Shape = Vec<Option<Atom>>;

impl Simplify {
    /// Notes for each carry the sizes that no iteration changes.
    pub(super) fn note_carried_shapes(&mut self, parts: &Loop) {
        self.carried_shapes(parts, DEEPEST);
    }

    fn carried_shapes(&mut self, parts: &Loop, depth: usize) {
        let mut shapes: Vec<Shape> = parts.initial.iter().map(|initial| self.facts.shape(initial)).collect();
        // Sizes are supposed to stay as they are until the body shows otherwise; each round gives up at least one.
        loop {
            for (carry, shape) in parts.carry.iter().zip(&shapes) {
                self.facts.set_shape(carry.var, shape.clone());
            }
            if shapes.iter().flatten().all(Option::is_none) {
                return;
            }
            let mark = self.facts.enter();
            self.look_at_shapes(&parts.body, depth);
            let mut given_up = false;
            for (shape, result) in shapes.iter_mut().zip(&parts.body.results) {
                let next = self.facts.shape(&self.facts.resolve(result));
                for (axis, size) in shape.iter_mut().enumerate().filter(|(_, size)| size.is_some()) {
                    if next.get(axis) != Some(size) {
                        *size = None;
                        given_up = true;
                    }
                }
            }
            self.facts.leave(mark);
            if !given_up {
                return;
            }
        }
    }

    /// Notes the shapes of what a block makes, without changing it.
    fn look_at_shapes(&mut self, block: &Block, depth: usize) {
        for Statement { binders, op, .. } in &block.statements {
            match (op, binders.as_slice()) {
                (Op::Loop(parts), _) if depth > 0 => self.carried_shapes(parts, depth - 1),
                (Op::Dim { array, axis }, [binder]) => {
                    let sizes = self.facts.shape(&self.facts.resolve(array));
                    if let Some(Some(size)) = sizes.get(*axis) {
                        self.facts.replace(binder.var, size.clone());
                    }
                }
                _ => {}
            }
            self.facts.note_shapes(binders, op);
        }
    }
}
