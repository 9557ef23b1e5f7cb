//! Structures for sums and arrays as values, and the functions that count, copy, add and write them.

use super::{elem_name, type_name};
use crate::ir::*;
use crate::layout::Layouts;
use chadwick_core::Prim;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The array types that are used as values.
#[derive(Default)]
pub(super) struct Arrays {
    used: BTreeSet<(Elem, usize)>,
}

impl Arrays {
    pub fn use_array(&mut self, elem: Elem, rank: usize, layouts: &Layouts) -> String {
        self.used.insert((elem, rank));
        array_name(elem, rank, layouts)
    }
}

pub(super) fn name(id: SumId, layouts: &Layouts) -> String {
    // No local and no function ends like this.
    format!("{}_{}_t", crate::emit::c_name(&layouts.get(id).name), id.0)
}

/// The constructor of a value.
pub(super) fn tag(id: SumId, value: &str, layouts: &Layouts) -> String {
    let sum = layouts.get(id);
    match (sum.constructors.len(), sum.null_tag()) {
        (1, _) => String::from("0"),
        (2, Some(null)) => format!("({value} == NULL ? {null} : {})", 1 - null),
        (_, Some(null)) => format!("({value} == NULL ? {null} : {value}->tag)"),
        (_, None) => tag_place(id, value, layouts),
    }
}

/// Whether there is a choice that is not told by whether a value is null.
pub(super) fn has_tag(id: SumId, layouts: &Layouts) -> bool {
    let sum = layouts.get(id);
    sum.constructors.len() > 1 + usize::from(sum.null_tag().is_some())
}

/// Where the constructor of a value stands that is not null.
pub(super) fn tag_place(id: SumId, value: &str, layouts: &Layouts) -> String {
    format!("{value}{}tag", if layouts.get(id).recursive { "->" } else { "." })
}

pub(super) fn array_name(elem: Elem, rank: usize, layouts: &Layouts) -> String {
    let elem = match elem {
        Elem::Prim(prim) => prim.name().to_owned(),
        Elem::Unit => String::from("unit"),
        Elem::Sum(id) => name(id, layouts),
    };
    format!("array_{elem}_{rank}_t")
}

pub(super) fn release_block(elem: Elem, exp: &str, layouts: &Layouts) -> String {
    match elem {
        Elem::Sum(id) if layouts.counted(&Ty::Sum(id)) => format!("release_block_{}(ctx, {exp});", name(id, layouts)),
        _ => format!("cw_release(ctx, {exp});"),
    }
}

/// A statement that appends a value to the stream.
pub(super) fn write_value(ty: &Ty, exp: &str, layouts: &Layouts, arrays: &mut Arrays) -> String {
    match ty {
        Ty::Prim(_) => format!("{{ {} value = {exp}; cw_write(ctx, &value, sizeof value); }}", type_name(ty, layouts)),
        Ty::Array(elem, rank) => {
            arrays.used.insert((*elem, *rank));
            format!("write_{}(ctx, {exp});", array_name(*elem, *rank, layouts))
        }
        Ty::Sum(id) => format!("write_{}(ctx, {exp});", name(*id, layouts)),
        _ => String::new(),
    }
}

pub(super) fn print(layouts: &Layouts, arrays: &mut Arrays, out: &mut String) {
    for sum in &layouts.sums {
        for field in sum.constructors.iter().flatten() {
            if let Ty::Array(elem, rank) = field {
                arrays.used.insert((*elem, *rank));
            }
        }
    }
    if !layouts.sums.is_empty() || !arrays.used.is_empty() {
        out.push_str("\n/* Types */\n\n");
    }
    let ids: Vec<SumId> = (0..layouts.sums.len() as u32).map(SumId).collect();
    for id in &ids {
        let (name, star) = (name(*id, layouts), if layouts.get(*id).recursive { "*" } else { "" });
        let _ = writeln!(out, "typedef struct {name}ag {star}{name};");
    }
    for (elem, rank) in &arrays.used {
        let _ = writeln!(
            out,
            "typedef struct {{ {} *data; cw_block *owner; int64_t n[{rank}]; }} {};",
            elem_name(*elem, layouts),
            array_name(*elem, *rank, layouts)
        );
    }
    let mut done = BTreeSet::new();
    ids.iter().for_each(|id| structure(*id, layouts, &mut done, out));
    for id in &ids {
        prototypes(*id, layouts, out);
    }
    for (elem, rank) in &arrays.used {
        let name = array_name(*elem, *rank, layouts);
        let _ = writeln!(out, "static void write_{name}(cw_context *ctx, {name} x);");
    }
    for id in &ids {
        functions(*id, layouts, out);
    }
    for (elem, rank) in &arrays.used {
        write_array(*elem, *rank, layouts, out);
    }
}

/// The structure, behind those that it contains.
fn structure(id: SumId, layouts: &Layouts, done: &mut BTreeSet<SumId>, out: &mut String) {
    if !done.insert(id) {
        return;
    }
    let sum = layouts.get(id);
    for field in sum.constructors.iter().flatten() {
        if let Ty::Sum(inner) = field
            && !layouts.get(*inner).recursive
        {
            structure(*inner, layouts, done, out);
        }
    }
    let _ = write!(out, "struct {}ag {{ ", name(id, layouts));
    if sum.recursive {
        out.push_str("int64_t refs; ");
    }
    if has_tag(id, layouts) {
        out.push_str("int32_t tag; ");
    }
    match sum.constructors.iter().all(Vec::is_empty) {
        true => out.push_str("char unused; "),
        false => {
            out.push_str("union { ");
            for (tag, fields) in sum.constructors.iter().enumerate() {
                if fields.is_empty() {
                    continue;
                }
                out.push_str("struct { ");
                for (number, field) in fields.iter().enumerate() {
                    let _ = write!(out, "{} f{number}; ", type_name(field, layouts));
                }
                let _ = write!(out, "}} c{tag}; ");
            }
            out.push_str("} u; ");
        }
    }
    out.push_str("};\n");
}

fn prototypes(id: SumId, layouts: &Layouts, out: &mut String) {
    let name = name(id, layouts);
    let _ = writeln!(out, "static void retain_{name}(cw_context *ctx, {name} x);");
    let _ = writeln!(out, "static void release_{name}(cw_context *ctx, {name} x);");
    let _ = writeln!(out, "static void release_block_{name}(cw_context *ctx, cw_block *block);");
    let _ = writeln!(out, "static void copy_{name}(cw_context *ctx, {name} *to, const {name} *from, int64_t count);");
    let _ = writeln!(out, "static int make_unique_{name}(cw_context *ctx, {name} *place, int32_t site);");
    let _ = writeln!(out, "static int add_to_{name}(cw_context *ctx, {name} *place, {name} x, int32_t site);");
    let _ = writeln!(out, "static void write_{name}(cw_context *ctx, {name} x);");
}

/// Runs over the constructors; `field` gives the statement for one field.
fn by_constructor(id: SumId, layouts: &Layouts, value: &str, out: &mut String, field: &dyn Fn(&Ty, &str) -> String) {
    let sum = layouts.get(id);
    let choice = sum.constructors.len() > 1;
    if choice {
        let _ = writeln!(out, "  switch ({}) {{", tag(id, value, layouts));
    }
    for (tag, fields) in sum.constructors.iter().enumerate() {
        let statements: Vec<String> = fields
            .iter()
            .enumerate()
            .map(|(number, ty)| field(ty, &format!("u.c{tag}.f{number}")))
            .filter(|statement| !statement.is_empty())
            .collect();
        if statements.is_empty() {
            continue;
        }
        if choice {
            let _ = writeln!(out, "  case {tag}:");
        }
        for statement in statements {
            let _ = writeln!(out, "    {statement}");
        }
        if choice {
            out.push_str("    break;\n");
        }
    }
    if choice {
        out.push_str("  }\n");
    }
}

fn retain_field(ty: &Ty, exp: &str, layouts: &Layouts) -> String {
    match ty {
        Ty::Array(elem, _) if *elem != Elem::Unit => format!("cw_retain(ctx, {exp}.owner);"),
        Ty::Sum(id) if layouts.counted(ty) => format!("retain_{}(ctx, {exp});", name(*id, layouts)),
        _ => String::new(),
    }
}

fn release_field(ty: &Ty, exp: &str, layouts: &Layouts) -> String {
    match ty {
        Ty::Array(elem, _) if *elem != Elem::Unit => release_block(*elem, &format!("{exp}.owner"), layouts),
        Ty::Sum(id) if layouts.counted(ty) => format!("release_{}(ctx, {exp});", name(*id, layouts)),
        _ => String::new(),
    }
}

fn functions(id: SumId, layouts: &Layouts, out: &mut String) {
    let sum = layouts.get(id);
    let name = name(id, layouts);
    let access = if sum.recursive { "->" } else { "." };
    // References
    let _ = writeln!(out, "static void retain_{name}(cw_context *ctx, {name} x) {{");
    match sum.recursive {
        true => out.push_str("  if (x != NULL) cw_count(ctx, &x->refs, 1);\n"),
        false => by_constructor(id, layouts, "x", out, &|ty, field| retain_field(ty, &format!("x.{field}"), layouts)),
    }
    out.push_str("}\n");
    let _ = writeln!(out, "static void release_{name}(cw_context *ctx, {name} x) {{");
    if sum.recursive {
        out.push_str("  if (x == NULL || !cw_was_last(ctx, &x->refs)) return;\n");
    }
    by_constructor(id, layouts, "x", out, &|ty, field| release_field(ty, &format!("x{access}{field}"), layouts));
    if sum.recursive {
        out.push_str("  cw_free_node(ctx, x, sizeof *x);\n");
    }
    out.push_str("}\n");
    let _ = writeln!(
        out,
        "static void release_block_{name}(cw_context *ctx, cw_block *block) {{\n  if (block == NULL || !cw_was_last(ctx, &block->refs)) return;\n  \
         {name} *elements = ({name} *)(block + 1);\n  for (int64_t i = 0; i < block->count; i++) release_{name}(ctx, elements[i]);\n  \
         cw_free_block(ctx, block);\n}}"
    );
    let _ = writeln!(
        out,
        "static void copy_{name}(cw_context *ctx, {name} *to, const {name} *from, int64_t count) {{\n  \
         for (int64_t i = 0; i < count; i++) {{\n    retain_{name}(ctx, from[i]);\n    to[i] = from[i];\n  }}\n}}"
    );
    make_unique(id, layouts, out);
    add_to(id, layouts, out);
    // For the host
    let _ = writeln!(out, "static void write_{name}(cw_context *ctx, {name} x) {{");
    let tag = tag(id, "x", layouts);
    let _ = writeln!(out, "  int32_t tag = {tag};\n  cw_write(ctx, &tag, sizeof tag);");
    by_constructor(id, layouts, "x", out, &|ty, field| {
        write_value(ty, &format!("x{access}{field}"), layouts, &mut Arrays::default())
    });
    out.push_str("}\n");
}

/// Makes a node writable: a copy of its own if others have it.
fn make_unique(id: SumId, layouts: &Layouts, out: &mut String) {
    let name = name(id, layouts);
    let _ = writeln!(out, "static int make_unique_{name}(cw_context *ctx, {name} *place, int32_t site) {{");
    if layouts.get(id).recursive {
        let _ = writeln!(
            out,
            "  {name} x = *place;\n  if (x == NULL || cw_is_only(&x->refs)) return 0;\n  {name} copy = ({name})cw_node(ctx, sizeof *copy);\n  \
             if (copy == NULL) return cw_fail(ctx, site, CW_MEMORY, 0, NULL);\n  *copy = *x;\n  copy->refs = 1;"
        );
        by_constructor(id, layouts, "copy", out, &|ty, field| retain_field(ty, &format!("copy->{field}"), layouts));
        let _ = writeln!(out, "  release_{name}(ctx, x);\n  *place = copy;");
    }
    out.push_str("  return 0;\n}\n");
}

fn add_to(id: SumId, layouts: &Layouts, out: &mut String) {
    let sum = layouts.get(id);
    let name = name(id, layouts);
    let access = if sum.recursive { "->" } else { "." };
    let _ = writeln!(out, "static int add_to_{name}(cw_context *ctx, {name} *place, {name} x, int32_t site) {{");
    if sum.constructors.len() > 1 {
        let (there, here) = (tag(id, "(*place)", layouts), tag(id, "x", layouts));
        let _ = writeln!(out, "  if ({there} != {here}) return cw_fail(ctx, site, CW_ADD_CONSTRUCTORS, 0, NULL);");
    }
    if sum.recursive {
        let _ = writeln!(out, "  if (make_unique_{name}(ctx, place, site)) return 1;");
    }
    by_constructor(id, layouts, "x", out, &|ty, field| {
        let (to, from) = (format!("(*place){access}{field}"), format!("x{access}{field}"));
        match ty {
            Ty::Prim(Prim::Bool) => String::new(),
            Ty::Prim(Prim::F16) => format!("{to} = (_Float16)((float){to} + (float){from});"),
            Ty::Prim(_) => format!("{to} += {from};"),
            Ty::Sum(inner) => format!("if (add_to_{}(ctx, &{to}, {from}, site)) return 1;", self::name(*inner, layouts)),
            Ty::Array(elem, rank) => add_array(*elem, *rank, &to, &from, layouts),
            _ => String::new(),
        }
    });
    out.push_str("  return 0;\n}\n");
}

/// Adds an array in a field to another, which is made writable first.
fn add_array(elem: Elem, rank: usize, to: &str, from: &str, layouts: &Layouts) -> String {
    let ty = elem_name(elem, layouts);
    let dims = |array: &str| (0..rank).map(|axis| format!("{array}.n[{axis}]")).collect::<Vec<String>>();
    let mut text = String::from("{ int64_t count = 1; ");
    let differ: Vec<String> = (0..rank).map(|axis| format!("{to}.n[{axis}] != {from}.n[{axis}]")).collect();
    let _ = write!(
        text,
        "if (({}) && ({} != 0 || {} != 0)) return cw_fail(ctx, site, CW_ADD_SHAPES, {}, (const int64_t[]){{{}}}); ",
        differ.join(" || "),
        dims(to).join(" * "),
        dims(from).join(" * "),
        2 * rank,
        [dims(to), dims(from)].concat().join(", ")
    );
    if matches!(elem, Elem::Unit | Elem::Prim(Prim::Bool)) {
        text.push('}');
        return text;
    }
    for axis in 0..rank {
        let _ = write!(text, "count *= {to}.n[{axis}]; ");
    }
    let copy = match elem {
        Elem::Sum(id) if layouts.counted(&Ty::Sum(id)) => {
            format!("copy_{}(ctx, ({ty} *)(copy + 1), {to}.data, count);", name(id, layouts))
        }
        _ => format!("if (count > 0) memcpy(copy + 1, {to}.data, (size_t)count * sizeof({ty}));"),
    };
    let _ = write!(
        text,
        "if (cw_is_shared({to}.owner)) {{ cw_block *copy = cw_alloc(ctx, sizeof({ty}), 1, &count, false); \
         if (copy == NULL) return cw_fail(ctx, site, CW_MEMORY, 0, NULL); {copy} {} {to}.owner = copy; {to}.data = ({ty} *)(copy + 1); }} ",
        release_block(elem, &format!("{to}.owner"), layouts)
    );
    let step = match elem {
        Elem::Sum(id) => format!("if (add_to_{}(ctx, &{to}.data[i], {from}.data[i], site)) return 1;", name(id, layouts)),
        Elem::Prim(Prim::F16) => format!("{to}.data[i] = (_Float16)((float){to}.data[i] + (float){from}.data[i]);"),
        _ => format!("{to}.data[i] += {from}.data[i];"),
    };
    let _ = write!(text, "for (int64_t i = 0; i < count; i++) {step} }}");
    text
}

fn write_array(elem: Elem, rank: usize, layouts: &Layouts, out: &mut String) {
    let name = array_name(elem, rank, layouts);
    let _ = writeln!(out, "static void write_{name}(cw_context *ctx, {name} x) {{\n  int64_t count = 1;");
    for axis in 0..rank {
        let _ = writeln!(out, "  count *= x.n[{axis}];");
    }
    out.push_str("  cw_write(ctx, x.n, sizeof x.n);\n");
    match elem {
        Elem::Unit => {}
        Elem::Prim(_) => out.push_str("  cw_write(ctx, x.data, count * (int64_t)sizeof *x.data);\n"),
        Elem::Sum(id) => {
            let sum = self::name(id, layouts);
            let _ = writeln!(out, "  for (int64_t i = 0; i < count; i++) write_{sum}(ctx, x.data[i]);");
        }
    }
    out.push_str("}\n");
}
