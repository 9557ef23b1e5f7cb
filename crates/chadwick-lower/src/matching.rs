//! Pattern matching: rows of patterns become nested matches and conditionals, first row first.

use crate::Lowerer;
use crate::ltype::{LType, UNKNOWN};
use crate::value::{Env, Value};
use chadwick_core::{Arm, Atom, Binder, Block, CompareOp, Const, MessagePart, Op, Prim, PrimOp};
use chadwick_source::{Name, Span};
use chadwick_types::tree::{Exp, Pattern, PatternKind};
use chadwick_types::ty;

/// A value to be matched.
#[derive(Clone)]
struct Column {
    atoms: Vec<Atom>,
    shape: LType,
}

#[derive(Clone)]
struct Row<'p> {
    patterns: Vec<Option<&'p Pattern>>,
    env: Env,
    body: &'p Exp,
}

impl Lowerer<'_> {
    pub fn match_exp(&mut self, scrutinee: &Exp, cases: &[(Pattern, Exp)], ty: &ty::Type, env: &mut Env, span: Span) -> Value {
        let atoms = self.atoms(scrutinee, env);
        let shape = self.shape_in(&scrutinee.ty, env);
        let result = self.shape_in(ty, env);
        let rows: Vec<Row<'_>> =
            cases.iter().map(|(pattern, body)| Row { patterns: vec![Some(pattern)], env: env.clone(), body }).collect();
        let results = self.rows(vec![Column { atoms, shape }], rows, &result, span);
        Value::Atoms(results)
    }

    fn rows(&mut self, columns: Vec<Column>, mut rows: Vec<Row<'_>>, result: &LType, span: Span) -> Vec<Atom> {
        if !self.require_room(rows.len(), span) {
            rows.clear();
        }
        let Some(first) = rows.first_mut() else {
            let message = vec![MessagePart::Text(String::from("no case matches"))];
            self.emit(Op::Assert { condition: Atom::bool(false), message }, span);
            return match self.unreachable(result, span) {
                Value::Atoms(atoms) => atoms,
                Value::Function(_) => Vec::new(),
            };
        };
        // Names and wildcards of the first row match; what is left decides.
        for (column, pattern) in columns.iter().zip(&mut first.patterns) {
            if let Some(Pattern { kind: PatternKind::Var(id, _), .. }) = pattern {
                first.env.bind(*id, Value::Atoms(column.atoms.clone()));
                *pattern = None;
            } else if let Some(Pattern { kind: PatternKind::Wildcard, .. }) = pattern {
                *pattern = None;
            }
        }
        let Some(at) = first.patterns.iter().position(Option::is_some) else {
            let mut env = first.env.clone();
            return self.atoms(first.body, &mut env);
        };
        let kind = match first.patterns[at] {
            Some(pattern) => pattern.kind.clone(),
            None => return Vec::new(),
        };
        match kind {
            PatternKind::Record(_) => self.split_record(columns, rows, at, result, span),
            PatternKind::Constructor(..) => self.split_constructors(columns, rows, at, result, span),
            PatternKind::Bool(value) => {
                let condition = columns[at].atoms.first().cloned().unwrap_or(UNKNOWN);
                let literal = |pattern: &Pattern| match pattern.kind {
                    PatternKind::Bool(other) => Some(other == value),
                    _ => None,
                };
                let (matching, others) = split_literal(&columns, rows, at, &literal);
                let matching = self.block(|lowerer| lowerer.rows(columns.clone(), matching, result, span));
                let others = self.block(|lowerer| lowerer.rows(columns, others, result, span));
                let (then, otherwise) = if value { (matching, others) } else { (others, matching) };
                self.choose_shape(result, Op::If { condition, then, otherwise }, span)
            }
            PatternKind::Int(value) => {
                let prim = columns[at].shape.as_prim().unwrap_or(Prim::I64);
                let literal = |pattern: &Pattern| match pattern.kind {
                    PatternKind::Int(other) => Some(other == value),
                    _ => None,
                };
                self.split_number(columns, rows, at, Const::from_i128(prim, value), &literal, result, span)
            }
            PatternKind::Float(value) => {
                let prim = columns[at].shape.as_prim().unwrap_or(Prim::F64);
                let literal = |pattern: &Pattern| match pattern.kind {
                    PatternKind::Float(other) => Some(other == value),
                    _ => None,
                };
                self.split_number(columns, rows, at, crate::exp::float_const(prim, value), &literal, result, span)
            }
            PatternKind::Var(..) | PatternKind::Wildcard => Vec::new(),
        }
    }

    fn choose_shape(&mut self, result: &LType, op: Op, span: Span) -> Vec<Atom> {
        let types = self.flatten(result);
        self.emit_typed("", op, types, span)
    }

    #[expect(clippy::too_many_arguments, reason = "one step of the matrix")]
    fn split_number(
        &mut self,
        columns: Vec<Column>,
        rows: Vec<Row<'_>>,
        at: usize,
        literal: Const,
        same: &dyn Fn(&Pattern) -> Option<bool>,
        result: &LType,
        span: Span,
    ) -> Vec<Atom> {
        let value = columns[at].atoms.first().cloned().unwrap_or(UNKNOWN);
        let op = PrimOp::Compare(CompareOp::Equal, literal.prim());
        let condition = self.prim(op, vec![value, Atom::Const(literal)], span);
        let (matching, others) = split_literal(&columns, rows, at, same);
        let then = self.block(|lowerer| lowerer.rows(columns.clone(), matching, result, span));
        let otherwise = self.block(|lowerer| lowerer.rows(columns, others, result, span));
        self.choose_shape(result, Op::If { condition, then, otherwise }, span)
    }

    /// A record column becomes one column per field.
    fn split_record(&mut self, mut columns: Vec<Column>, rows: Vec<Row<'_>>, at: usize, result: &LType, span: Span) -> Vec<Atom> {
        let column = columns.remove(at);
        let shape = match &column.shape {
            LType::Hidden(inner) => (**inner).clone(),
            other => other.clone(),
        };
        let LType::Record(fields) = &shape else { return Vec::new() };
        let parts: Vec<Column> = fields
            .iter()
            .map(|(name, ty)| Column { atoms: self.field(&shape, &column.atoms, name).1, shape: ty.clone() })
            .collect();
        let rows = rows
            .into_iter()
            .map(|mut row| {
                let pattern = row.patterns.remove(at);
                let inner: Vec<Option<&Pattern>> = match pattern.map(|pattern| &pattern.kind) {
                    Some(PatternKind::Record(patterns)) => fields
                        .iter()
                        .map(|(name, _)| patterns.iter().find(|(other, _)| other == name).map(|(_, pattern)| pattern))
                        .collect(),
                    Some(PatternKind::Var(id, _)) => {
                        row.env.bind(*id, Value::Atoms(column.atoms.clone()));
                        vec![None; fields.len()]
                    }
                    _ => vec![None; fields.len()],
                };
                row.patterns.splice(at..at, inner);
                row
            })
            .collect();
        columns.splice(at..at, parts);
        self.rows(columns, rows, result, span)
    }

    fn split_constructors(
        &mut self,
        columns: Vec<Column>,
        rows: Vec<Row<'_>>,
        at: usize,
        result: &LType,
        span: Span,
    ) -> Vec<Atom> {
        let column = columns[at].clone();
        let constructors = self.constructors(&column.shape);
        let mentioned: Vec<Name> = rows
            .iter()
            .filter_map(|row| match row.patterns[at].map(|pattern| &pattern.kind) {
                Some(PatternKind::Constructor(name, _)) => Some(name.clone()),
                _ => None,
            })
            .collect();
        let mut arms = Vec::new();
        for (tag, (name, payload)) in constructors.iter().enumerate() {
            if !mentioned.contains(name) {
                continue;
            }
            let mut binders: Vec<Binder> = Vec::new();
            let mut parts = Vec::new();
            for shape in payload {
                let types = self.flatten(shape);
                let own: Vec<Binder> = types.into_iter().map(|ty| self.fresh("", ty)).collect();
                parts.push(Column { atoms: own.iter().map(|binder| Atom::Var(binder.var)).collect(), shape: shape.clone() });
                binders.extend(own);
            }
            let mut inner_columns = columns.clone();
            inner_columns.splice(at..=at, parts);
            let inner_rows: Vec<Row<'_>> = rows
                .iter()
                .filter_map(|row| {
                    let mut row = row.clone();
                    let inner: Vec<Option<&Pattern>> = match row.patterns[at].map(|pattern| &pattern.kind) {
                        Some(PatternKind::Constructor(other, args)) if other == name => args.iter().map(Some).collect(),
                        Some(PatternKind::Constructor(..)) => return None,
                        Some(PatternKind::Var(id, _)) => {
                            row.env.bind(*id, Value::Atoms(column.atoms.clone()));
                            vec![None; payload.len()]
                        }
                        _ => vec![None; payload.len()],
                    };
                    row.patterns.splice(at..=at, inner);
                    Some(row)
                })
                .collect();
            let body = self.block(|lowerer| lowerer.rows(inner_columns, inner_rows, result, span));
            arms.push(Arm { tag: tag as u32, binders, body });
        }
        let otherwise = (arms.len() < constructors.len()).then(|| {
            let others: Vec<Row<'_>> = rows
                .iter()
                .filter(|row| !matches!(row.patterns[at].map(|pattern| &pattern.kind), Some(PatternKind::Constructor(..))))
                .cloned()
                .collect();
            self.block(|lowerer| lowerer.rows(columns.clone(), others, result, span))
        });
        let scrutinee = column.atoms.first().cloned().unwrap_or(UNKNOWN);
        self.choose_shape(result, Op::Match { scrutinee, arms, otherwise }, span)
    }

    /// The payload of a value whose type has this one constructor, one group of atoms per argument.
    pub fn unwrap_constructor(&mut self, atoms: &[Atom], ty: &ty::Type, name: &Name, env: &Env, span: Span) -> Vec<Vec<Atom>> {
        let shape = self.shape_in(ty, env);
        let constructors = self.constructors(&shape);
        let Some((tag, (_, payload))) = constructors.iter().enumerate().find(|(_, (other, _))| other == name) else {
            return Vec::new();
        };
        let groups: Vec<Vec<Binder>> =
            payload.iter().map(|shape| self.flatten(shape).into_iter().map(|ty| self.fresh("", ty)).collect()).collect();
        let binders: Vec<Binder> = groups.iter().flatten().cloned().collect();
        let types = binders.iter().map(|binder| binder.ty.clone()).collect();
        let body = Block { statements: Vec::new(), results: binders.iter().map(|binder| Atom::Var(binder.var)).collect() };
        let scrutinee = atoms.first().cloned().unwrap_or(UNKNOWN);
        let op = Op::Match { scrutinee, arms: vec![Arm { tag: tag as u32, binders, body }], otherwise: None };
        let mut rest = self.emit_typed("", op, types, span);
        groups
            .into_iter()
            .map(|group| {
                let tail = rest.split_off(group.len().min(rest.len()));
                std::mem::replace(&mut rest, tail)
            })
            .collect()
    }
}

/// Rows that match a literal in a column, and rows that are left when it does not match.
fn split_literal<'p>(
    columns: &[Column],
    rows: Vec<Row<'p>>,
    at: usize,
    same: &dyn Fn(&Pattern) -> Option<bool>,
) -> (Vec<Row<'p>>, Vec<Row<'p>>) {
    let mut matching = Vec::new();
    let mut others = Vec::new();
    for mut row in rows {
        match row.patterns[at] {
            Some(pattern) => match same(pattern) {
                Some(true) => {
                    row.patterns[at] = None;
                    matching.push(row);
                }
                Some(false) => others.push(row),
                None => {
                    if let PatternKind::Var(id, _) = &pattern.kind {
                        row.env.bind(*id, Value::Atoms(columns[at].atoms.clone()));
                    }
                    row.patterns[at] = None;
                    matching.push(row.clone());
                    others.push(row);
                }
            },
            None => {
                matching.push(row.clone());
                others.push(row);
            }
        }
    }
    (matching, others)
}
