//! Reductions by the tree of their combinations (thesis 6.6): the reduction itself makes a tree that has the derivative of every combination.
//! Cotangents go down that tree, tangents up. So each is run once more, in whatever order elements were combined.

use super::Direction;
use super::linear::{LinearFunction, LinearType};
use super::rules::Chad;
use crate::context::Context;
use chadwick_core::typing::constructors;
use chadwick_core::{
    Arm, Atom, Axis, Binder, Block, Constructor, FunctionId, Lambda, Op, Statement, Type, TypeDefinition, TypeId,
};
use chadwick_source::{Name, Span};

/// An element, or what was there before all elements: its values and its derivative.
const LEAF: u32 = 0;
/// Two trees, the values of their combination and its derivative.
const NODE: u32 = 1;

/// The type of trees, and of the derivatives in them.
struct Tree {
    ty: Type,
    of_leaf: LinearType,
    of_node: LinearType,
}

impl Tree {
    /// The derivative among the fields of a constructor.
    fn derivative(&self, context: &Context, tag: u32, fields: &[Atom]) -> LinearFunction {
        let (ty, behind) = if tag == NODE { (&self.of_node, 2) } else { (&self.of_leaf, 1) };
        LinearFunction::from_value(context, fields[fields.len() - behind].clone(), ty)
    }
}

impl Chad<'_, '_> {
    pub fn reduce(
        &mut self,
        statement: &Statement,
        (space, body): (&[Axis], &Block),
        (op, neutral): (&Lambda, &[Atom]),
        commutative: bool,
        types: &[Type],
    ) -> Option<LinearFunction> {
        let span = statement.span;
        let count = neutral.len();
        let (left, right) = op.params.split_at(count.min(op.params.len()));
        let flags: Vec<bool> = (0..count)
            .map(|at| [&statement.binders[at], &left[at], &right[at]].into_iter().any(|binder| self.is_active(binder)))
            .collect();
        let chosen = |binders: &[Binder]| -> Vec<Binder> {
            binders.iter().zip(&flags).filter(|(_, flag)| **flag).map(|(binder, _)| binder.clone()).collect()
        };
        let inside = [chosen(left), chosen(right)].concat();
        let own: Vec<Type> = chosen(&statement.binders).into_iter().map(|binder| binder.ty).collect();
        let tree = self.tree_type(op, &own, &inside);

        // What is there before all elements, as a leaf.
        let starts: Vec<Atom> = neutral.iter().zip(&flags).filter(|(_, flag)| **flag).map(|(atom, _)| atom.clone()).collect();
        let derivative = match self.engine.direction {
            Direction::Reverse => self.backpropagator(&own, span, |this, cotangents, state| {
                let pairs = starts.iter().zip(cotangents);
                pairs.fold(state, |state, (atom, cotangent)| this.one(state, atom, cotangent.clone(), span))
            }),
            Direction::Forward => self.pushforward(&own, span, |this| this.tangents_of(&starts, span)),
        };
        let start = [self.primals(neutral), vec![derivative.into_value()]].concat();
        let start = self.context.construct(&tree.ty, LEAF, start, span).swap_remove(0);

        self.context.b.push_block();
        let (values, derivative) = self.block(body, &[], &flags, span);
        let leaf = self.context.construct(&tree.ty, LEAF, [values, vec![derivative.into_value()]].concat(), span);
        let body = self.context.b.pop_block(leaf);

        let params = vec![self.context.fresh("left", tree.ty.clone()), self.context.fresh("right", tree.ty.clone())];
        let [first, second] = [0, 1].map(|at: usize| Atom::Var(params[at].var));
        self.context.b.push_block();
        for (subtree, binders) in [(&first, left), (&second, right)] {
            let binders = self.primal_binders(binders);
            self.tree_values(&tree.ty, subtree, binders, span);
        }
        let (values, derivative) = self.block(&op.body, &inside, &flags, span);
        let fields = [vec![first], values, vec![derivative.into_value(), second]].concat();
        let node = self.context.construct(&tree.ty, NODE, fields, span);
        let combine = Lambda { params, results: vec![tree.ty.clone()], body: self.context.b.pop_block(node) };
        let reduction = Op::Reduce { space: space.to_vec(), op: combine, neutral: vec![start], body, commutative };
        let made = self.context.b.push_named("tree", reduction, vec![tree.ty.clone()], span).swap_remove(0);
        let binders = self.primal_binders(&statement.binders);
        self.tree_values(&tree.ty, &made, binders.clone(), span);

        if self.engine.direction == Direction::Forward {
            let up = self.up_the_tree(&tree, &own, span);
            let is_active: Vec<bool> = chosen(&statement.binders).iter().map(|binder| self.is_active(binder)).collect();
            return Some(self.pushforward(types, span, |this| {
                let args = [vec![made], this.tangents.clone()].concat();
                let all = this.context.emit(Op::Call { function: up, args }, span);
                all.into_iter().zip(is_active).filter(|(_, is_active)| *is_active).map(|(tangent, _)| tangent).collect()
            }));
        }
        let down = self.down_the_tree(&tree, &own, &inside, span);
        Some(self.backpropagator(types, span, |this, cotangents, state| {
            let mut cotangents = cotangents.iter().cloned();
            let mut args = vec![made];
            let all = statement.binders.iter().zip(&binders).zip(&flags);
            for ((binder, primal), _) in all.filter(|(_, flag)| **flag) {
                let own = if this.is_active(binder) { cotangents.next() } else { None };
                args.push(match own {
                    Some(own) => own,
                    None => this.engine.meaning.zero(this.context, &Atom::Var(primal.var), &binder.ty, span),
                });
            }
            let environment = this.environment.clone();
            args.extend(this.written_out(state, &environment, span));
            Some(this.context.emit(Op::Call { function: down, args }, span))
        }))
    }

    fn tree_type(&mut self, op: &Lambda, own: &[Type], inside: &[Binder]) -> Tree {
        let types = &mut self.context.b.program_mut().types;
        let id = TypeId(types.len() as u32);
        types.push(TypeDefinition { name: Name::from("reduction"), constructors: Vec::new() });
        let ty = Type::Named(id);
        let values: Vec<Type> =
            op.results.iter().map(|ty| self.engine.meaning.primal_type(self.context, ty).any_sizes()).collect();
        let environment = self.environment.clone();
        let of_leaf = self.derivative_type(own, &environment);
        let within = [environment, self.variables(inside)].concat();
        let of_node = self.derivative_type(own, &within);
        let constructor = |name: &str, payload| Constructor { name: Name::from(name), payload };
        self.context.b.program_mut().types[id.0 as usize].constructors = vec![
            constructor("leaf", [values.clone(), vec![of_leaf.value()]].concat()),
            constructor("node", [vec![ty.clone()], values, vec![of_node.value(), ty.clone()]].concat()),
        ];
        Tree { ty, of_leaf, of_node }
    }

    /// An arm for each constructor of a tree; `make` gets its fields.
    fn tree_arms(&mut self, tree: &Type, mut make: impl FnMut(&mut Self, u32, Vec<Atom>) -> Vec<Atom>) -> Vec<Arm> {
        let all = constructors(&self.context.b, tree).map(<[_]>::to_vec).unwrap_or_default();
        let mut arms = Vec::new();
        for (tag, constructor) in all.iter().enumerate() {
            let binders: Vec<Binder> = constructor.payload.iter().map(|ty| self.context.fresh("", ty.clone())).collect();
            let fields = binders.iter().map(|binder| Atom::Var(binder.var)).collect();
            self.context.b.push_block();
            let results = make(self, tag as u32, fields);
            arms.push(Arm { tag: tag as u32, binders, body: self.context.b.pop_block(results) });
        }
        arms
    }

    /// Binds the values at the root of a tree.
    fn tree_values(&mut self, tree: &Type, root: &Atom, binders: Vec<Binder>, span: Span) {
        let count = binders.len();
        let arms = self.tree_arms(tree, |_, tag, fields| {
            let from = usize::from(tag == NODE);
            fields[from..from + count].to_vec()
        });
        self.push(binders, Op::Match { scrutinee: root.clone(), arms, otherwise: None }, span);
    }

    /// A function from a tree and the tangents of the environment to those of its root.
    fn up_the_tree(&mut self, tree: &Tree, own: &[Type], span: Span) -> FunctionId {
        let environment = self.environment.clone();
        let results = self.cotangent_types(own);
        let state = self.engine.meaning.state_types(self.context, &environment);
        let params: Vec<Binder> =
            [vec![tree.ty.clone()], state].concat().into_iter().map(|ty| self.context.fresh("", ty)).collect();
        let atoms: Vec<Atom> = params.iter().map(|param| Atom::Var(param.var)).collect();
        let function = self.context.reserve(Name::from("up_the_tree"), params, results.clone(), span);
        let (root, tangents) = (atoms[0].clone(), &atoms[1..]);
        self.context.b.push_block();
        let arms = self.tree_arms(&tree.ty, |this, tag, fields| {
            let derivative = tree.derivative(this.context, tag, &fields);
            let mut args = tangents.to_vec();
            if tag == NODE {
                for subtree in [&fields[0], &fields[fields.len() - 1]] {
                    let below = [vec![subtree.clone()], tangents.to_vec()].concat();
                    args.extend(this.context.emit(Op::Call { function, args: below }, span));
                }
            }
            derivative.apply(this.context, args, span)
        });
        let results = self.context.b.push(Op::Match { scrutinee: root, arms, otherwise: None }, results, span);
        let body = self.context.b.pop_block(results);
        self.context.b.program_mut().functions[function.0 as usize].body = body;
        function
    }

    /// A function from a tree, the cotangents of its root and what was contributed so far to all that is contributed then.
    fn down_the_tree(&mut self, tree: &Tree, own: &[Type], inside: &[Binder], span: Span) -> FunctionId {
        let environment = self.environment.clone();
        let variables = self.variables(inside);
        let cotangents = self.cotangent_types(own);
        let state = self.engine.meaning.state_types(self.context, &environment);
        let given = [vec![tree.ty.clone()], cotangents, state.clone()].concat();
        let params: Vec<Binder> = given.into_iter().map(|ty| self.context.fresh("", ty)).collect();
        let atoms: Vec<Atom> = params.iter().map(|param| Atom::Var(param.var)).collect();
        let function = self.context.reserve(Name::from("down_the_tree"), params, state.clone(), span);
        let (root, rest) = (atoms[0].clone(), &atoms[1..]);
        let (cotangents, before) = rest.split_at(own.len());
        self.context.b.push_block();
        let arms = self.tree_arms(&tree.ty, |this, tag, fields| {
            let back = tree.derivative(this.context, tag, &fields);
            let inside = if tag == NODE { variables.as_slice() } else { &[] };
            let (after, parts) = this.scoped(Some(before.to_vec()), &back, cotangents.to_vec(), inside, span);
            let mut state = this.written_out(after, &environment, span);
            if tag == NODE {
                let subtrees = [&fields[0], &fields[fields.len() - 1]];
                for (subtree, parts) in subtrees.into_iter().zip(parts.chunks(own.len().max(1))) {
                    let args = [vec![subtree.clone()], parts.to_vec(), state].concat();
                    state = this.context.emit(Op::Call { function, args }, span);
                }
            }
            state
        });
        let results = self.context.b.push(Op::Match { scrutinee: root, arms, otherwise: None }, state, span);
        let body = self.context.b.pop_block(results);
        self.context.b.program_mut().functions[function.0 as usize].body = body;
        function
    }
}
