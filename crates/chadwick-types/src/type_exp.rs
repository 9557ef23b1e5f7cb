//! Type expressions to types.

use crate::checker::Checker;
use crate::env::{Module, Scope, Term, TypeEntry, TypeEntryParam, closest};
use crate::subst::Subst;
use crate::tree::{Exp, ExpKind};
use crate::ty::{Arrow, OpaqueSize, Return, Scheme, Size, Type, VarId};
use crate::unify::{OnSizes, arguments};
use chadwick_source::{Name, Span};
use chadwick_syntax::ast::{self, TypeExpKind};
use std::rc::Rc;

/// What `[]` means where a type is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Anonymous {
    /// In a parameter of a definition: a new size parameter.
    Parameter,
    /// In a result: a size known only afterwards.
    Exists,
    /// In a local annotation: whatever fits.
    Infer,
    /// Left of an arrow inside a type: any.
    Any,
}

/// A type as written, with the sizes its anonymous dimensions introduced.
pub struct Written {
    pub ty: Type,
    pub unique: bool,
    pub sizes: Vec<(VarId, Name)>,
}

impl Checker<'_> {
    pub fn type_exp(&mut self, exp: &ast::TypeExp, anonymous: Anonymous) -> Written {
        let mut writer = Writer { anonymous, sizes: Vec::new(), unique: false };
        let ty = self.write_type(exp, &mut writer);
        let ty = self.bounded_type(ty, exp.span);
        Written { ty, unique: writer.unique, sizes: writer.sizes }
    }

    fn write_type(&mut self, exp: &ast::TypeExp, writer: &mut Writer) -> Type {
        match &exp.kind {
            TypeExpKind::Error => Type::Error,
            TypeExpKind::Unique(inner) => {
                let ty = self.write_type(inner, writer);
                writer.unique = true;
                ty
            }
            TypeExpKind::Tuple(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| self.write_type(part, writer)).collect();
                Type::tuple(parts)
            }
            TypeExpKind::Record(fields) => {
                self.reject_duplicates(fields.iter().map(|(name, _)| name), "E0206", "field");
                let fields: Vec<_> = fields.iter().map(|(name, ty)| (name.name.clone(), self.write_type(ty, writer))).collect();
                Type::record(fields)
            }
            TypeExpKind::Sum(constructors) => {
                self.reject_duplicates(constructors.iter().map(|(name, _)| name), "E0207", "constructor");
                let constructors: Vec<_> = constructors
                    .iter()
                    .map(|(name, payload)| {
                        (name.name.clone(), payload.iter().map(|ty| self.write_type(ty, writer)).collect::<Vec<_>>())
                    })
                    .collect();
                Type::sum(constructors)
            }
            TypeExpKind::Array(size, element) => {
                let size = self.write_size(size, writer);
                Type::array(size, self.write_type(element, writer))
            }
            TypeExpKind::Exists(names, inner) => {
                let mark = self.locals.mark();
                let first = writer.sizes.len();
                for name in names {
                    let id = self.fresh_var(name.name.clone());
                    self.bind_local(&name.name, id, Scheme::mono(Type::i64()));
                    writer.sizes.push((id, name.name.clone()));
                }
                let own = writer.sizes[first..].to_vec();
                let ty = self.write_type(inner, writer);
                self.locals.undo_to(mark);
                for ((id, name), ident) in own.iter().zip(names) {
                    self.require_array_of_size(*id, name, &ty, ident.span);
                }
                if writer.anonymous != Anonymous::Infer {
                    return ty;
                }
                let own: Vec<_> = writer.sizes.drain(first..).map(|(id, _)| id).collect();
                self.open_sizes(&own, &ty)
            }
            TypeExpKind::Arrow { param, from, to } => {
                let from = self.type_exp(from, Anonymous::Any);
                let mark = self.locals.mark();
                let id = param.as_ref().map(|name| {
                    let id = self.fresh_var(name.name.clone());
                    self.bind_local(&name.name, id, Scheme::mono(from.ty.clone()));
                    id
                });
                let to = self.type_exp(to, Anonymous::Exists);
                self.locals.undo_to(mark);
                let exists = to.sizes.iter().map(|(id, _)| *id).collect();
                Type::Arrow(Rc::new(Arrow {
                    param: id,
                    param_name: param.as_ref().map(|name| name.name.clone()),
                    consumes: from.unique,
                    from: from.ty,
                    to: Return { exists, unique: to.unique, ty: to.ty },
                }))
            }
            TypeExpKind::Apply(name, args) => self.write_application(name, args, exp.span, writer),
        }
    }

    fn write_application(&mut self, name: &ast::QualName, args: &[ast::TypeArg], span: Span, writer: &mut Writer) -> Type {
        let Some(entry) = self.find_type(name) else { return Type::Error };
        if entry.params.len() != args.len() {
            let expected = entry.params.len();
            self.error("E0208", span, format!("type {name} takes {}, but is given {}", arguments(expected), args.len()));
            return Type::Error;
        }
        let mut subst = Subst::default();
        for (param, arg) in entry.params.iter().zip(args) {
            match (param, arg) {
                (TypeEntryParam::Type(param), ast::TypeArg::Type(ty)) => {
                    let ty = self.write_type(ty, writer);
                    subst.types.insert(*param, ty);
                }
                (TypeEntryParam::Size(param), ast::TypeArg::Size(size)) => {
                    let size = self.write_size(size, writer);
                    subst.sizes.insert(*param, size);
                }
                (TypeEntryParam::Type(_), ast::TypeArg::Size(size)) => {
                    self.error("E0209", size.span, format!("{name} expects a type here, not a size"));
                }
                (TypeEntryParam::Size(_), ast::TypeArg::Type(ty)) => {
                    self.error("E0209", ty.span, format!("{name} expects a size here, as in `{name} [n]`"));
                }
            }
        }
        Type::hiding(&entry.hidden, subst.ty(&entry.body))
    }

    /// The entry of a type name, or an error with the closest spelling.
    pub fn find_type(&mut self, name: &ast::QualName) -> Option<TypeEntry> {
        if name.qualifiers.is_empty() {
            let found = self.locals.ty(&name.name.name).or_else(|| self.env.ty(&name.name.name)).cloned();
            if found.is_none() {
                let suggestion = closest(&name.name.name, self.env.type_names()).cloned();
                let is_own = self.defined_type.as_ref() == Some(&name.name.name);
                let diagnostic = self.error("E0210", name.span(), format!("unknown type {name}"));
                diagnostic.hint = match is_own {
                    true => Some(format!("a type that contains itself is defined with `type rec {name} = …`")),
                    false => suggestion.map(|suggestion| format!("did you mean `{suggestion}`?")),
                };
            }
            return found;
        }
        let module = self.find_module(&name.qualifiers)?;
        let found = self.members(&module, name.span())?.types.get(&name.name.name).cloned();
        if found.is_none() {
            self.error("E0210", name.span(), format!("unknown type {name}"));
        }
        found
    }

    /// The module that a path of names means.
    pub fn find_module(&mut self, path: &[ast::Ident]) -> Option<Rc<Module>> {
        let (first, rest) = path.split_first()?;
        let found = self.locals.term(&first.name).or_else(|| self.env.term(&first.name)).cloned();
        let mut module = match found {
            Some(Term::Module(module)) => module,
            Some(Term::Value(_)) => {
                self.error("E0211", first.span, format!("{} is a value, not a module", first.name));
                return None;
            }
            None => {
                self.error("E0212", first.span, format!("unknown module {}", first.name));
                return None;
            }
        };
        for name in rest {
            match self.members(&module, name.span)?.terms.get(&name.name).cloned() {
                Some(Term::Module(inner)) => module = inner,
                _ => {
                    self.error("E0212", name.span, format!("unknown module {}", name.name));
                    return None;
                }
            }
        }
        Some(module)
    }

    /// What is in a module, unless it is parametric.
    pub fn members<'m>(&mut self, module: &'m Module, span: Span) -> Option<&'m Scope> {
        match module {
            Module::Structure(scope) => Some(scope),
            Module::Functor(_) => {
                self.error("E0213", span, "a parametric module has no members; apply it first");
                None
            }
        }
    }

    fn write_size(&mut self, size: &ast::SizeExp, writer: &mut Writer) -> Size {
        match &size.exp {
            Some(exp) => self.size_exp(exp),
            None => match writer.anonymous {
                Anonymous::Infer => self.fresh_size(),
                Anonymous::Any => Size::Unknown,
                Anonymous::Parameter | Anonymous::Exists => {
                    let id = self.fresh_var(Name::default());
                    writer.sizes.push((id, Name::default()));
                    Size::Name(id, Name::default())
                }
            },
        }
    }

    /// An expression between the brackets of a type.
    pub fn size_exp(&mut self, exp: &ast::Exp) -> Size {
        let typed = self.exp(exp, Some(&Type::i64()));
        self.expect(&Type::i64(), &typed.ty, OnSizes::Ignore, exp.span, "a size must be an i64");
        self.size_of_typed(typed)
    }

    /// The expression as a size: arithmetic stays visible, whatever is inside it.
    pub fn size_of_typed(&mut self, typed: Exp) -> Size {
        if let Some(size) = self.size_of_exp(&typed) {
            return size;
        }
        if let ExpKind::Apply { function, args, .. } = &typed.kind
            && let (ExpKind::Var { id, .. }, [left, right]) = (&function.kind, args.as_slice())
            && let Some(build) = self.known_functions.get(id).and_then(|known| known.on_sizes())
        {
            let (left, right) = (left.clone(), right.clone());
            return build(self.size_of_typed(left), self.size_of_typed(right));
        }
        // The expression outlives the inference of this definition, so it is finished now.
        self.retry_deferred(false);
        let typed = self.zonk(typed);
        let mut free = Vec::new();
        free_vars(&typed, &mut free);
        let args = free.into_iter().map(|id| (id, Size::Name(id, self.vars[id.0 as usize].name.clone()))).collect();
        let text = self.map.text(typed.span).to_owned();
        Size::Opaque(Rc::new(OpaqueSize { exp: Rc::new(typed), args, text }))
    }

    pub fn reject_duplicates<'n>(&mut self, names: impl Iterator<Item = &'n ast::Ident>, code: &'static str, what: &str) {
        let mut seen: Vec<&ast::Ident> = Vec::new();
        for name in names {
            if let Some(first) = seen.iter().find(|other| other.name == name.name) {
                let first = first.span;
                let diagnostic = self.error(code, name.span, format!("duplicate {what} {}", name.name));
                diagnostic.secondary.push(chadwick_source::Label { span: first, text: String::from("first here") });
            }
            seen.push(name);
        }
    }
}

struct Writer {
    anonymous: Anonymous,
    sizes: Vec<(VarId, Name)>,
    unique: bool,
}

/// The monomorphic variables of a size expression (those that may stand for something else after substitution).
fn free_vars(exp: &Exp, found: &mut Vec<VarId>) {
    match &exp.kind {
        ExpKind::Var { id, types, sizes } if types.is_empty() && sizes.is_empty() && !found.contains(id) => found.push(*id),
        ExpKind::Apply { function, args, .. } => {
            free_vars(function, found);
            args.iter().for_each(|arg| free_vars(arg, found));
        }
        ExpKind::Project(inner, _) | ExpKind::Checked(_, inner) | ExpKind::Attributed(_, inner) => free_vars(inner, found),
        ExpKind::Index(array, indices) => {
            free_vars(array, found);
            for index in indices {
                if let crate::tree::Index::At(exp) = index {
                    free_vars(exp, found);
                }
            }
        }
        ExpKind::Record(fields) => fields.iter().for_each(|(_, exp)| free_vars(exp, found)),
        ExpKind::If(a, b, c) => [a, b, c].into_iter().for_each(|exp| free_vars(exp, found)),
        _ => {}
    }
}
