//! Types.

use super::Printer;
use crate::ast::{Ident, SizeExp, TypeArg, TypeExp, TypeExpKind, TypeParam, TypeParamKind};

impl Printer {
    pub(super) fn type_exp(&mut self, ty: &TypeExp) {
        stacker::maybe_grow(32 * 1024, 1024 * 1024, || self.type_exp_here(ty));
    }

    fn type_exp_here(&mut self, ty: &TypeExp) {
        match &ty.kind {
            TypeExpKind::Apply(name, arguments) => {
                self.qual_name(name);
                for argument in arguments {
                    self.text(" ");
                    match argument {
                        TypeArg::Size(size) => self.size(size),
                        TypeArg::Type(ty) => self.type_atom(ty),
                    }
                }
            }
            TypeExpKind::Tuple(types) => self.list("(", types, ")", Self::type_exp),
            TypeExpKind::Record(fields) => self.list("{", fields, "}", |printer, (name, ty)| {
                printer.text(format!("{}: ", name.name));
                printer.type_exp(ty);
            }),
            TypeExpKind::Array(size, element) => {
                self.size(size);
                self.prefix_type(element);
            }
            TypeExpKind::Unique(inner) => {
                self.text("*");
                match inner.kind {
                    // `**` would be one operator.
                    TypeExpKind::Unique(_) => self.parenthesised(|printer| printer.type_exp(inner)),
                    _ => self.prefix_type(inner),
                }
            }
            TypeExpKind::Arrow { param, from, to } => self.arrow(param.as_ref(), from, to),
            TypeExpKind::Sum(constructors) => self.sum(constructors),
            TypeExpKind::Exists(sizes, body) => {
                self.text("?");
                for size in sizes {
                    self.text(format!("[{}]", size.name));
                }
                self.text(".");
                self.type_exp(body);
            }
            TypeExpKind::Error => self.text("()"),
        }
    }

    fn arrow(&mut self, param: Option<&Ident>, from: &TypeExp, to: &TypeExp) {
        match param {
            Some(name) => self.parenthesised(|printer| {
                printer.text(format!("{}: ", name.name));
                printer.type_exp(from);
            }),
            None => self.prefix_type(from),
        }
        self.text(" -> ");
        self.type_exp(to);
    }

    fn sum(&mut self, constructors: &[(Ident, Vec<TypeExp>)]) {
        self.group(0, |printer| {
            for (position, (name, payload)) in constructors.iter().enumerate() {
                if position > 0 {
                    printer.layout.space();
                    printer.text("| ");
                }
                printer.text(format!("#{}", name.name));
                for (place, ty) in payload.iter().enumerate() {
                    printer.text(" ");
                    // An array type would take what follows it for arguments of its element type.
                    let is_last = place + 1 == payload.len();
                    match &ty.kind {
                        TypeExpKind::Array(..) if is_last => printer.type_exp(ty),
                        _ => printer.type_atom(ty),
                    }
                }
            }
        });
    }

    /// A type where arrows, sums and existentials need parentheses.
    pub(super) fn prefix_type(&mut self, ty: &TypeExp) {
        match &ty.kind {
            TypeExpKind::Arrow { .. } | TypeExpKind::Sum(_) | TypeExpKind::Exists(..) => {
                self.parenthesised(|printer| printer.type_exp(ty))
            }
            _ => self.type_exp(ty),
        }
    }

    /// A type where everything compound needs parentheses.
    fn type_atom(&mut self, ty: &TypeExp) {
        let is_atom = match &ty.kind {
            TypeExpKind::Apply(_, arguments) => arguments.is_empty(),
            TypeExpKind::Tuple(_) | TypeExpKind::Record(_) | TypeExpKind::Error => true,
            _ => false,
        };
        if is_atom { self.type_exp(ty) } else { self.parenthesised(|printer| printer.type_exp(ty)) }
    }

    fn size(&mut self, size: &SizeExp) {
        self.text("[");
        if let Some(exp) = &size.exp {
            self.exp(exp);
        }
        self.text("]");
    }

    pub(super) fn type_params(&mut self, params: &[TypeParam]) {
        for param in params {
            self.layout.space();
            self.text(type_param_text(param));
        }
    }
}

pub(super) fn type_param_text(param: &TypeParam) -> String {
    use crate::ast::Liftedness::{Lifted, SizeLifted, Unlifted};
    let name = &param.name.name;
    match param.kind {
        TypeParamKind::Size => format!("[{name}]"),
        TypeParamKind::Type(Unlifted) => format!("'{name}"),
        TypeParamKind::Type(SizeLifted) => format!("'~{name}"),
        TypeParamKind::Type(Lifted) => format!("'^{name}"),
    }
}
