//! A seed must have the structure of what it is a derivative of: the same lengths and the same constructors.

use crate::context::Context;
use chadwick_core::typing;
use chadwick_core::{
    Arm, Atom, Axis, BinaryOp, Binder, Block, CompareOp, Const, Differentiate, Element, FunctionId, Lambda, MessagePart, Op,
    Prim, PrimOp, Statement, Type,
};
use chadwick_source::{Name, Span};

impl Context<'_> {
    /// The function that is differentiated, with its parameters bound to the arguments.
    pub fn at_arguments(&mut self, parts: &Differentiate, span: Span) -> Lambda {
        let lambda = self.copy_lambda(&parts.function);
        for (param, arg) in lambda.params.iter().zip(&parts.args) {
            let argument = Statement { binders: vec![param.clone()], op: Op::Copy(vec![arg.clone()]), span };
            self.note_shapes(&argument);
            self.push_statement(argument);
        }
        self.note_checked_sizes(&lambda.params, &lambda.body);
        lambda
    }

    /// Emits checks that the cotangents of results have their structure.
    pub fn check_seeds(&mut self, results: &[Atom], seeds: &[Atom], span: Span) {
        for (result, seed) in results.iter().zip(seeds) {
            if self.carries(&self.type_of(result)) {
                self.check_seed(result, seed, "cotangent", span);
            }
        }
    }

    /// Emits checks that a value and its seed (`word` says of which kind) have one structure.
    pub fn check_seed(&mut self, value: &Atom, seed: &Atom, word: &str, span: Span) {
        let ty = self.type_of(value);
        if Context::is_flat(&ty) {
            for axis in 0..ty.rank() {
                let expected = self.emit_one(Op::Dim { array: value.clone(), axis }, span);
                self.check_length(&expected, seed, axis, word, span);
            }
            return;
        }
        let condition = self.same_structure(value, seed, span);
        let text = format!("a {word} has other constructors or lengths than the value it belongs to");
        self.b.push(Op::Assert { condition, message: vec![MessagePart::Text(text)] }, Vec::new(), span);
    }

    /// Emits a check that an axis of a seed has the expected length.
    pub fn check_length(&mut self, expected: &Atom, seed: &Atom, axis: usize, word: &str, span: Span) {
        let actual = self.emit_one(Op::Dim { array: seed.clone(), axis }, span);
        let condition = self.equal(expected.clone(), actual.clone(), span);
        let message = vec![
            MessagePart::Text(format!("a {word} of length ")),
            MessagePart::Value(actual),
            MessagePart::Text(String::from(" is given for an array of length ")),
            MessagePart::Value(expected.clone()),
        ];
        self.b.push(Op::Assert { condition, message }, Vec::new(), span);
    }

    fn equal(&mut self, left: Atom, right: Atom, span: Span) -> Atom {
        self.prim(PrimOp::Compare(CompareOp::Equal, Prim::I64), vec![left, right], span)
    }

    fn and(&mut self, left: Atom, right: Atom, span: Span) -> Atom {
        match (&left, &right) {
            (Atom::Const(Const::Bool(true)), _) => right,
            (_, Atom::Const(Const::Bool(true))) => left,
            _ => self.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), vec![left, right], span),
        }
    }

    /// Whether two values of one type have the same lengths and constructors.
    fn same_structure(&mut self, value: &Atom, seed: &Atom, span: Span) -> Atom {
        match self.type_of(value) {
            Type::Prim(_) | Type::Function(_) | Type::Accumulator(_) | Type::Log(_) => Atom::bool(true),
            Type::Array(array) => {
                let mut sizes = Vec::new();
                let mut same = Atom::bool(true);
                for axis in 0..array.dims.len() {
                    let [own, other] = [value, seed].map(|array| self.emit_one(Op::Dim { array: array.clone(), axis }, span));
                    let equal = self.equal(own.clone(), other, span);
                    same = self.and(same, equal, span);
                    sizes.push(own);
                }
                match array.element {
                    Element::Boxed(_) => self.same_elements(same, sizes, value, seed, span),
                    _ => same,
                }
            }
            ty @ (Type::Sum(_) | Type::Named(_)) => {
                let function = self.structure_function(&ty, span);
                self.emit_one(Op::Call { function, args: vec![value.clone(), seed.clone()] }, span)
            }
        }
    }

    /// Whether the elements of two arrays have the same structure, given whether the arrays have the same lengths.
    fn same_elements(&mut self, same: Atom, sizes: Vec<Atom>, value: &Atom, seed: &Atom, span: Span) -> Atom {
        let then = self.block(|context| {
            let space: Vec<Axis> = sizes.into_iter().map(|size| Axis { var: context.fresh("i", Type::I64).var, size }).collect();
            let indices: Vec<Atom> = space.iter().map(|axis| Atom::Var(axis.var)).collect();
            let body = context.block(|context| {
                let [value, seed] = [value, seed]
                    .map(|array| context.emit_one(Op::Index { array: array.clone(), indices: indices.clone() }, span));
                vec![context.same_structure(&value, &seed, span)]
            });
            let params = vec![context.fresh("a", Type::BOOL), context.fresh("b", Type::BOOL)];
            let args = params.iter().map(|param| Atom::Var(param.var)).collect();
            let both = context.block(|context| vec![context.prim(PrimOp::Binary(BinaryOp::And, Prim::Bool), args, span)]);
            let op = Lambda { params, results: vec![Type::BOOL], body: both };
            vec![context.emit_one(Op::Reduce { space, op, neutral: vec![Atom::bool(true)], body, commutative: true }, span)]
        });
        let otherwise = Block { statements: Vec::new(), results: vec![Atom::bool(false)] };
        self.emit_one(Op::If { condition: same, then, otherwise }, span)
    }

    /// A function that says whether two values of a sum type have the same structure.
    fn structure_function(&mut self, ty: &Type, span: Span) -> FunctionId {
        if let Some(known) = self.structures.get(ty) {
            return *known;
        }
        let params = vec![self.fresh("value", ty.clone()), self.fresh("seed", ty.clone())];
        let (value, seed) = (Atom::Var(params[0].var), Atom::Var(params[1].var));
        let function = self.reserve(Name::from("same_structure"), params, vec![Type::BOOL], span);
        self.structures.insert(ty.clone(), function);
        let constructors = typing::constructors(&self.b, ty).map(<[_]>::to_vec).unwrap_or_default();
        let several = constructors.len() > 1;
        let body = self.block(|context| {
            let mut arms = Vec::new();
            for (tag, constructor) in constructors.iter().enumerate() {
                let bind = |context: &mut Self| -> Vec<Binder> {
                    constructor.payload.iter().map(|ty| context.fresh("", ty.clone())).collect()
                };
                let (own, other) = (bind(context), bind(context));
                let body = context.block(|context| {
                    let inner = context.block(|context| {
                        let mut same = Atom::bool(true);
                        for (own, other) in own.iter().zip(&other).filter(|(own, _)| context.carries(&own.ty)).collect::<Vec<_>>()
                        {
                            let part = context.same_structure(&Atom::Var(own.var), &Atom::Var(other.var), span);
                            same = context.and(same, part, span);
                        }
                        vec![same]
                    });
                    let otherwise = several.then(|| Block { statements: Vec::new(), results: vec![Atom::bool(false)] });
                    let arms = vec![Arm { tag: tag as u32, binders: other.clone(), body: inner }];
                    context.b.push(Op::Match { scrutinee: seed.clone(), arms, otherwise }, vec![Type::BOOL], span)
                });
                arms.push(Arm { tag: tag as u32, binders: own, body });
            }
            context.b.push(Op::Match { scrutinee: value.clone(), arms, otherwise: None }, vec![Type::BOOL], span)
        });
        self.b.program_mut().functions[function.0 as usize].body = body;
        function
    }
}
