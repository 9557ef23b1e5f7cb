//! Whether patterns cover their type. The usual matrix algorithm: specialise by the head of the first column until a value is found
//! that no row matches.

use crate::checker::Checker;
use crate::tree::{Pattern, PatternKind};
use crate::ty::Type;
use chadwick_source::{Name, Span};

/// The head of a pattern.
#[derive(Clone, PartialEq)]
enum Head {
    Bool(bool),
    Int(i128),
    Float(u64),
    Record(Vec<Name>),
    Constructor(Name, usize),
}

type Row<'p> = Vec<Option<&'p Pattern>>;

/// How many rows are looked at before a match is called too large: in the worst case there are as many combinations as values.
const MOST_ROWS: usize = 1_000_000;

/// Why no uncovered value was found.
enum Covered {
    Yes,
    Unknown,
}

impl Checker<'_> {
    pub fn require_irrefutable(&mut self, pattern: &Pattern, what: &str) {
        if self.has_errors() {
            return;
        }
        let missing = self.uncovered(vec![vec![Some(pattern)]], std::slice::from_ref(&pattern.ty), &mut 0);
        if let Ok(missing) = missing {
            let missing = missing.first().cloned().unwrap_or_else(|| String::from("_"));
            self.error("E0280", pattern.span, format!("refutable pattern not allowed here: {what} would not match {missing}"))
                .hint = Some(String::from("use `match` with a case for it"));
        }
    }

    pub fn require_exhaustive(&mut self, patterns: &[&Pattern], ty: &Type, span: Span) {
        // What an error inside left open is no second error.
        let inside = |other: Span| other.file == span.file && other.start >= span.start && other.end <= span.end;
        if holds_error(ty) || self.diagnostics.iter().any(|one| one.is_error() && inside(one.primary.span)) {
            return;
        }
        let rows = patterns.iter().map(|pattern| vec![Some(*pattern)]).collect();
        match self.uncovered(rows, std::slice::from_ref(ty), &mut 0) {
            Ok(missing) => {
                let missing = missing.first().cloned().unwrap_or_else(|| String::from("_"));
                self.error("E0281", span, format!("unmatched cases: the match does not cover {missing}")).hint =
                    Some(format!("add `case {missing} -> …`"));
            }
            Err(Covered::Unknown) => {
                let message = "too many combinations of cases to find out whether they cover all values";
                self.error("E0282", span, message).hint =
                    Some(String::from("match on fewer things at a time, or end with `case _`"));
            }
            Err(Covered::Yes) => {}
        }
    }

    /// A value of the types that no row matches, one text per column. `seen` counts rows.
    fn uncovered(&self, rows: Vec<Row<'_>>, types: &[Type], seen: &mut usize) -> Result<Vec<String>, Covered> {
        if rows.is_empty() {
            return Ok(types.iter().map(|_| String::from("_")).collect());
        }
        let Some((ty, rest)) = types.split_first() else { return Err(Covered::Yes) };
        *seen += rows.len();
        if *seen > MOST_ROWS {
            return Err(Covered::Unknown);
        }
        // A row that matches everything; it was there all the way down or has come to be one.
        if rows.iter().any(|row| row.iter().all(|pattern| head(*pattern).is_none())) {
            return Err(Covered::Yes);
        }
        let heads: Vec<Head> = rows.iter().filter_map(|row| head(*row.first()?)).collect();
        let complete = self.complete_heads(ty, &heads);
        let candidates = match &complete {
            Some(all) => all.clone(),
            None => {
                let defaults: Vec<Row<'_>> =
                    rows.iter().filter(|row| head(row[0]).is_none()).map(|row| row[1..].to_vec()).collect();
                let witness = stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.uncovered(defaults, rest, seen))?;
                return Ok([vec![self.missing_head(ty, &heads)], witness].concat());
            }
        };
        for candidate in candidates {
            let columns = self.columns(&candidate, ty);
            let specialised = rows.iter().filter_map(|row| specialise(row, &candidate, columns.len())).collect();
            let types = [columns.clone(), rest.to_vec()].concat();
            match stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.uncovered(specialised, &types, seen)) {
                Ok(witness) => {
                    let (args, others) = witness.split_at(columns.len().min(witness.len()));
                    return Ok([vec![show(&candidate, args)], others.to_vec()].concat());
                }
                Err(Covered::Unknown) => return Err(Covered::Unknown),
                Err(Covered::Yes) => {}
            }
        }
        Err(Covered::Yes)
    }

    /// All heads of the type, if the rows mention enough of them to make listing worthwhile.
    fn complete_heads(&self, ty: &Type, heads: &[Head]) -> Option<Vec<Head>> {
        let all = match ty {
            Type::Prim(crate::ty::Prim::Bool) => vec![Head::Bool(true), Head::Bool(false)],
            Type::Record(fields) => vec![Head::Record(fields.iter().map(|(name, _)| name.clone()).collect())],
            Type::Hidden(_, inner) => return self.complete_heads(inner, heads),
            other => {
                self.constructors_of(other)?.into_iter().map(|(name, payload)| Head::Constructor(name, payload.len())).collect()
            }
        };
        let mentioned = |candidate: &Head| heads.iter().any(|head| same_head(head, candidate));
        all.iter().all(mentioned).then_some(all)
    }

    fn missing_head(&self, ty: &Type, heads: &[Head]) -> String {
        if let Type::Prim(crate::ty::Prim::Bool) = ty {
            return if heads.contains(&Head::Bool(true)) { String::from("false") } else { String::from("true") };
        }
        let missing = self.constructors_of(ty).and_then(|constructors| {
            constructors
                .into_iter()
                .find(|(name, _)| !heads.iter().any(|head| matches!(head, Head::Constructor(other, _) if other == name)))
        });
        match missing {
            Some((name, payload)) if !heads.is_empty() => {
                show(&Head::Constructor(name, payload.len()), &vec![String::from("_"); payload.len()])
            }
            _ => String::from("_"),
        }
    }

    fn columns(&self, head: &Head, ty: &Type) -> Vec<Type> {
        match (head, ty) {
            (Head::Record(_), Type::Record(fields)) => fields.iter().map(|(_, ty)| ty.clone()).collect(),
            (Head::Constructor(name, _), ty) => self.payload_of(ty, name).unwrap_or_default(),
            (_, Type::Hidden(_, inner)) => self.columns(head, inner),
            _ => Vec::new(),
        }
    }
}

fn head(pattern: Option<&Pattern>) -> Option<Head> {
    match &pattern?.kind {
        PatternKind::Wildcard | PatternKind::Var(..) => None,
        PatternKind::Bool(value) => Some(Head::Bool(*value)),
        PatternKind::Int(value) => Some(Head::Int(*value)),
        PatternKind::Float(value) => Some(Head::Float(value.to_bits())),
        PatternKind::Record(fields) => Some(Head::Record(fields.iter().map(|(name, _)| name.clone()).collect())),
        PatternKind::Constructor(name, args) => Some(Head::Constructor(name.clone(), args.len())),
    }
}

fn same_head(left: &Head, right: &Head) -> bool {
    match (left, right) {
        (Head::Record(_), Head::Record(_)) => true,
        (left, right) => left == right,
    }
}

/// The row without its first column, if that can match the head; the head's parts become columns.
fn specialise<'p>(row: &Row<'p>, candidate: &Head, arity: usize) -> Option<Row<'p>> {
    let (first, rest) = row.split_first()?;
    let parts: Row<'p> = match first.map(|pattern| (&pattern.kind, candidate)) {
        Some((PatternKind::Record(fields), Head::Record(names))) => {
            names.iter().map(|name| fields.iter().find(|(field, _)| field == name).map(|(_, pattern)| pattern)).collect()
        }
        Some((PatternKind::Constructor(name, args), Head::Constructor(wanted, _))) if name == wanted => {
            args.iter().map(Some).collect()
        }
        Some((PatternKind::Bool(value), Head::Bool(wanted))) if value == wanted => Vec::new(),
        None | Some((PatternKind::Wildcard | PatternKind::Var(..), _)) => vec![None; arity],
        _ => return None,
    };
    Some([parts, rest.to_vec()].concat())
}

fn show(head: &Head, args: &[String]) -> String {
    match head {
        Head::Bool(value) => value.to_string(),
        Head::Int(value) => value.to_string(),
        Head::Float(bits) => f64::from_bits(*bits).to_string(),
        Head::Record(names) => {
            let numbered = names.iter().enumerate().all(|(index, name)| *name == index.to_string());
            if numbered {
                format!("({})", args.join(", "))
            } else {
                let fields: Vec<_> = names.iter().zip(args).map(|(name, arg)| format!("{name} = {arg}")).collect();
                format!("{{{}}}", fields.join(", "))
            }
        }
        Head::Constructor(name, _) => {
            let args: Vec<_> = args
                .iter()
                .map(|arg| if arg.starts_with('#') && arg.contains(' ') { format!("({arg})") } else { arg.clone() })
                .collect();
            [vec![format!("#{name}")], args].concat().join(" ")
        }
    }
}

fn holds_error(ty: &Type) -> bool {
    match ty {
        Type::Error | Type::Var(_) => true,
        Type::Record(fields) => fields.iter().any(|(_, ty)| holds_error(ty)),
        Type::Sum(constructors) => constructors.iter().flat_map(|(_, payload)| payload).any(holds_error),
        Type::Array(_, inner) | Type::Hidden(_, inner) => holds_error(inner),
        Type::Prim(_) | Type::Param(..) | Type::Arrow(_) | Type::Named(..) => false,
    }
}
