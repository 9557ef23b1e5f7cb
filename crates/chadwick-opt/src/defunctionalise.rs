//! Functions as data: after this pass a program has no closures and no function types.
//!
//! A flow analysis finds which closures can meet in one place. Those become the constructors of one (possibly recursive) sum type, whose
//! payload is what the closure captures. Applying a function is a call of an ordinary function that matches on the constructor. A call costs
//! what it did before plus a match; captured arrays are passed by reference.

mod shapes;

use chadwick_core::visit::lambda_free_variables;
use chadwick_core::{
    Arm, ArrayType, Atom, Binder, Block, Constructor, Dim, Element, Function, FunctionId, FunctionType, Lambda, MessagePart, Op,
    Program, Statement, Type, TypeDefinition, TypeId, Var,
};
use chadwick_source::{Name, Span};
use rustc_hash::FxHashMap;
use shapes::{Label, Shape, Shapes};
use std::rc::Rc;

/// Replaces every function value by data.
pub fn defunctionalise(program: &mut Program) {
    if !has_functions(program) {
        return;
    }
    let shapes = Shapes::new(program);
    let mut pass = Pass { program, groups: Vec::new(), by_label: FxHashMap::default(), shapes };
    let (count, definitions) = (pass.program.functions.len(), pass.program.types.len());
    for at in 0..count {
        let function = pass.program.functions[at].clone();
        let body = pass.block(function.body);
        let params = pass.binders(function.params);
        let results = function.results.iter().enumerate();
        let results = results.map(|(index, ty)| pass.convert(ty, &pass.shapes.result(at, index))).collect();
        pass.program.functions[at] = Function { params, results, body, ..function };
    }
    for at in 0..definitions {
        let mut constructors = pass.program.types[at].constructors.clone();
        for (tag, constructor) in constructors.iter_mut().enumerate() {
            for (index, ty) in constructor.payload.iter_mut().enumerate() {
                *ty = pass.convert(ty, &pass.shapes.field(TypeId(at as u32), tag, index));
            }
        }
        pass.program.types[at].constructors = constructors;
    }
    pass.finish();
}

/// All closures that can meet.
struct Group {
    definition: TypeId,
    apply: FunctionId,
    closures: Vec<Lifted>,
}

/// A closure as a function of what it captures and its parameters.
struct Lifted {
    function: FunctionId,
    captured: Vec<Type>,
}

struct Pass<'p> {
    program: &'p mut Program,
    groups: Vec<Group>,
    by_label: FxHashMap<Label, usize>,
    shapes: Shapes,
}

impl Pass<'_> {
    /// The group of a label, made when first met.
    fn group(&mut self, label: Label) -> usize {
        let label = self.shapes.root(label);
        if let Some(known) = self.by_label.get(&label) {
            return *known;
        }
        let at = self.groups.len();
        let definition = TypeId(self.program.types.len() as u32);
        let apply = FunctionId(self.program.functions.len() as u32);
        self.by_label.insert(label, at);
        self.groups.push(Group { definition, apply, closures: Vec::new() });
        self.program.types.push(TypeDefinition { name: Name::from(format!("function{at}")), constructors: Vec::new() });
        let placeholder = Function {
            name: Name::from(format!("apply{at}")),
            params: Vec::new(),
            results: Vec::new(),
            body: Block::default(),
            span: Span::default(),
        };
        self.program.functions.push(placeholder);
        let (ty, param_shapes, result_shapes) = self.shapes.function(label);
        let function = Binder { var: self.program.fresh("f"), ty: Type::Named(definition) };
        let mut params = vec![function];
        for (ty, shape) in ty.params.iter().zip(&param_shapes) {
            let ty = self.convert(&forget(ty), shape);
            params.push(Binder { var: self.program.fresh("x"), ty });
        }
        let results = ty.results.iter().zip(&result_shapes).map(|(ty, shape)| self.convert(&forget(ty), shape)).collect();
        let target = &mut self.program.functions[apply.0 as usize];
        target.params = params;
        target.results = results;
        at
    }

    /// The type with the functions in it replaced by the data of their labels.
    fn convert(&mut self, ty: &Type, shape: &Shape) -> Type {
        match (ty, shape) {
            (_, Shape::Plain) | (Type::Prim(_) | Type::Named(_), _) => ty.clone(),
            (Type::Function(_), Shape::Function(label)) => {
                let group = self.group(*label);
                Type::Named(self.groups[group].definition)
            }
            (Type::Array(array), shape) => {
                let element = match &array.element {
                    Element::Boxed(inner) => Element::Boxed(Rc::new(self.convert(inner, shape))),
                    other => other.clone(),
                };
                Type::Array(ArrayType { element, dims: array.dims.clone() })
            }
            (Type::Sum(constructors), Shape::Sum(shapes)) => {
                let constructors = constructors.iter().zip(shapes.iter()).map(|(constructor, shapes)| Constructor {
                    name: constructor.name.clone(),
                    payload: constructor.payload.iter().zip(shapes).map(|(ty, shape)| self.convert(ty, shape)).collect(),
                });
                Type::Sum(constructors.collect())
            }
            (Type::Accumulator(inner), shape) => Type::Accumulator(Rc::new(self.convert(inner, shape))),
            (Type::Sum(_) | Type::Function(_) | Type::Log(_), _) => ty.clone(),
        }
    }

    /// The type as it is for a variable.
    fn ty(&mut self, ty: &Type, var: Var) -> Type {
        let shape = self.shapes.var(var);
        self.convert(ty, &shape)
    }

    fn binders(&mut self, binders: Vec<Binder>) -> Vec<Binder> {
        binders.into_iter().map(|binder| Binder { ty: self.ty(&binder.ty, binder.var), ..binder }).collect()
    }

    fn lambda(&mut self, lambda: Lambda) -> Lambda {
        let types = lambda.results.iter().zip(&lambda.body.results);
        let results = types.map(|(ty, result)| match result {
            Atom::Var(var) => self.ty(ty, *var),
            Atom::Const(_) => ty.clone(),
        });
        let results = results.collect();
        Lambda { params: self.binders(lambda.params), results, body: lambda.body }
    }

    fn block(&mut self, block: Block) -> Block {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let statements = block.statements.into_iter().map(|statement| self.statement(statement)).collect();
            Block { statements, results: block.results }
        })
    }

    fn statement(&mut self, statement: Statement) -> Statement {
        let Statement { binders, op, span } = statement;
        let op = match op {
            Op::Closure(lambda) => self.closure(&binders, lambda, span),
            Op::Apply { function, args } => self.apply(function, args),
            other => {
                let other = other.map_blocks(&mut |block| self.block(block));
                self.op_types(&binders, other)
            }
        };
        Statement { binders: self.binders(binders), op, span }
    }

    /// The types inside an operation; its blocks are done already.
    fn op_types(&mut self, binders: &[Binder], op: Op) -> Op {
        let mut own = |ty: &Type| binders.first().map_or(ty.clone(), |binder| self.ty(ty, binder.var));
        match op {
            Op::Construct { ty, tag, args } => Op::Construct { ty: own(&ty), tag, args },
            Op::ArrayLiteral { ty, elements, inner } => Op::ArrayLiteral { ty: own(&ty), elements, inner },
            Op::Match { scrutinee, arms, otherwise } => {
                let arms = arms.into_iter().map(|arm| Arm { binders: self.binders(arm.binders), ..arm }).collect();
                Op::Match { scrutinee, arms, otherwise }
            }
            Op::Reduce { space, op, neutral, body, commutative } => {
                Op::Reduce { space, op: self.lambda(op), neutral, body, commutative }
            }
            Op::Scan { axis, op, neutral, body } => Op::Scan { axis, op: self.lambda(op), neutral, body },
            Op::Hist { space, dest, rank, op, neutral, body } => {
                Op::Hist { space, dest, rank, op: self.lambda(op), neutral, body }
            }
            Op::Loop(mut parts) => {
                parts.carry = self.binders(parts.carry);
                Op::Loop(parts)
            }
            Op::Differentiate(mut parts) => {
                parts.function = self.lambda(parts.function);
                Op::Differentiate(parts)
            }
            Op::Custom(mut parts) => {
                parts.function = self.lambda(parts.function);
                parts.rule = self.lambda(parts.rule);
                Op::Custom(parts)
            }
            Op::WithAccumulators { handles, init, body } => Op::WithAccumulators { handles: self.binders(handles), init, body },
            other => other,
        }
    }

    /// A closure becomes a constructor with what it captures, and a function of its own.
    fn closure(&mut self, binders: &[Binder], lambda: Lambda, span: Span) -> Op {
        let label = binders.first().map(|binder| self.shapes.var(binder.var));
        let Some(Shape::Function(label)) = label else { return Op::Closure(lambda) };
        let group = self.group(label);
        let captured = lambda_free_variables(&lambda);
        let captured_types: Vec<Type> = captured
            .iter()
            .map(|var| {
                let ty = self.shapes.var_type(*var).unwrap_or(Type::BOOL);
                forget(&self.ty(&ty, *var))
            })
            .collect();
        let params: Vec<Binder> = captured_types
            .iter()
            .zip(&captured)
            .map(|(ty, var)| {
                let name = self.program.var_names.get(var.0 as usize).cloned().unwrap_or_default();
                Binder { var: self.program.fresh(name), ty: ty.clone() }
            })
            .collect();
        let replaced: Vec<(Var, Atom)> = captured.iter().zip(&params).map(|(var, param)| (*var, Atom::Var(param.var))).collect();
        let lambda = {
            let mut copier = chadwick_core::visit::Copier::new(self.program);
            replaced.iter().for_each(|(var, atom)| copier.replace(*var, atom.clone()));
            let copy = copier.lambda(&lambda);
            let names = copier.into_replacements();
            // The copy's variables are what the original's are.
            for (old, new) in names {
                if let Atom::Var(new) = new {
                    self.shapes.copied(old, new);
                }
            }
            copy
        };
        let lambda = self.lambda(lambda);
        let body = self.block(lambda.body);
        let function = FunctionId(self.program.functions.len() as u32);
        let results = self.program.functions[self.groups[group].apply.0 as usize].results.clone();
        self.program.functions.push(Function {
            name: Name::from("lambda"),
            params: [params, lambda.params].concat(),
            results,
            body,
            span,
        });
        let tag = self.groups[group].closures.len() as u32;
        self.groups[group].closures.push(Lifted { function, captured: captured_types });
        let ty = Type::Named(self.groups[group].definition);
        Op::Construct { ty, tag, args: captured.into_iter().map(Atom::Var).collect() }
    }

    fn apply(&mut self, function: Atom, args: Vec<Atom>) -> Op {
        let shape = match &function {
            Atom::Var(var) => self.shapes.var(*var),
            Atom::Const(_) => Shape::Plain,
        };
        let Shape::Function(label) = shape else { return Op::Apply { function, args } };
        let group = self.group(label);
        Op::Call { function: self.groups[group].apply, args: [vec![function], args].concat() }
    }

    /// Fills in the sum types and the functions that apply them.
    fn finish(self) {
        let Pass { program, groups, .. } = self;
        for group in &groups {
            let mut constructors: Vec<Constructor> = group
                .closures
                .iter()
                .enumerate()
                .map(|(at, lifted)| Constructor { name: Name::from(format!("closure{at}")), payload: lifted.captured.clone() })
                .collect();
            if constructors.is_empty() {
                // No function of this type is ever made, but a type needs a constructor.
                constructors.push(Constructor { name: Name::from("nothing"), payload: Vec::new() });
            }
            program.types[group.definition.0 as usize].constructors = constructors;
            let target = program.functions[group.apply.0 as usize].clone();
            let (function, args) = match target.params.split_first() {
                Some((function, args)) => (function.clone(), args.to_vec()),
                None => continue,
            };
            let mut arms = Vec::new();
            for (tag, lifted) in group.closures.iter().enumerate() {
                let binders: Vec<Binder> =
                    lifted.captured.iter().map(|ty| Binder { var: program.fresh(""), ty: ty.clone() }).collect();
                let all = binders.iter().chain(&args).map(|binder| Atom::Var(binder.var)).collect();
                let results: Vec<Binder> =
                    target.results.iter().map(|ty| Binder { var: program.fresh(""), ty: ty.clone() }).collect();
                let atoms = results.iter().map(|binder| Atom::Var(binder.var)).collect();
                let call =
                    Statement { binders: results, op: Op::Call { function: lifted.function, args: all }, span: Span::default() };
                arms.push(Arm { tag: tag as u32, binders, body: Block { statements: vec![call], results: atoms } });
            }
            if arms.is_empty() {
                let results: Vec<Binder> =
                    target.results.iter().map(|ty| Binder { var: program.fresh(""), ty: ty.clone() }).collect();
                let atoms = results.iter().map(|binder| Atom::Var(binder.var)).collect();
                let text = String::from("a function that was never made is applied");
                let fail = Op::Assert { condition: Atom::bool(false), message: vec![MessagePart::Text(text)] };
                let args = target.params.iter().map(|param| Atom::Var(param.var)).collect();
                let again = Op::Call { function: group.apply, args };
                let statements = vec![
                    Statement { binders: Vec::new(), op: fail, span: Span::default() },
                    Statement { binders: results, op: again, span: Span::default() },
                ];
                arms.push(Arm { tag: 0, binders: Vec::new(), body: Block { statements, results: atoms } });
            }
            let results: Vec<Binder> =
                target.results.iter().map(|ty| Binder { var: program.fresh(""), ty: ty.clone() }).collect();
            let atoms = results.iter().map(|binder| Atom::Var(binder.var)).collect();
            let op = Op::Match { scrutinee: Atom::Var(function.var), arms, otherwise: None };
            let statement = Statement { binders: results, op, span: Span::default() };
            program.functions[group.apply.0 as usize].body = Block { statements: vec![statement], results: atoms };
        }
    }
}

fn has_functions(program: &Program) -> bool {
    fn in_block(block: &Block) -> bool {
        block.statements.iter().any(|statement| {
            matches!(statement.op, Op::Closure(_) | Op::Apply { .. })
                || statement.op.scopes().iter().any(|scope| in_block(scope.block))
        })
    }
    program.functions.iter().any(|function| in_block(&function.body))
}

/// The type without what it knows of sizes.
fn forget(ty: &Type) -> Type {
    match ty {
        Type::Array(array) => {
            let element = match &array.element {
                Element::Boxed(inner) => Element::Boxed(Rc::new(forget(inner))),
                other => other.clone(),
            };
            Type::Array(ArrayType { element, dims: vec![Dim::Any; array.dims.len()] })
        }
        Type::Sum(constructors) => Type::Sum(
            constructors
                .iter()
                .map(|constructor| Constructor {
                    name: constructor.name.clone(),
                    payload: constructor.payload.iter().map(forget).collect(),
                })
                .collect(),
        ),
        Type::Function(function) => Type::Function(Rc::new(FunctionType {
            params: function.params.iter().map(forget).collect(),
            results: function.results.iter().map(forget).collect(),
        })),
        Type::Accumulator(inner) => Type::Accumulator(Rc::new(forget(inner))),
        Type::Prim(_) | Type::Named(_) | Type::Log(_) => ty.clone(),
    }
}
