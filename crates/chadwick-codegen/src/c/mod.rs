//! Loop IR as C text.

mod forks;
mod lanes;
mod parallel;
mod prims;
mod split;
mod steps;
mod sums;
mod text;
mod together;

pub(crate) use prims::c_type;
pub use prims::special_operation;
pub use text::{CText, Units};

use crate::emit::Shared;
use crate::ir::*;
use crate::layout::Layouts;
use crate::parallel::{for_each_exp, for_each_stm};
use chadwick_core::{BinaryOp, Prim, PrimOp, Program};
use prims::{constant, operation, power, without_test};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::fmt::Write;
use text::FunctionText;

/// How deep a call is that is not told.
const CONTEXT_DEPTH: &str = "ctx->depth";

/// The text of a program. If it is profiled, it has so many lines.
pub(crate) fn print(program: &Program, functions: &[(usize, Function)], shared: &Shared<'_>, profiled_lines: usize) -> CText {
    let memos: Vec<usize> =
        functions.iter().map(|(number, _)| *number).filter(|number| program.functions[*number].params.is_empty()).collect();
    let layouts = &shared.layouts;
    let mut printed = Vec::new();
    let mut arrays = sums::Arrays::default();
    let names: FxHashMap<usize, &str> = functions.iter().map(|(number, function)| (*number, function.name.as_str())).collect();
    let is_entry = |number: usize| program.entries.iter().any(|entry| entry.function.0 as usize == number);
    let is_node = |id: SumId| layouts.get(id).recursive;
    let returning: FxHashMap<usize, Returned> = functions
        .iter()
        .filter(|(number, function)| function.recursive && !is_entry(*number) && !memos.contains(number))
        .filter_map(|(number, function)| match function.results.as_slice() {
            [Ty::Prim(prim)] => Some((*number, Returned::Number(*prim))),
            [Ty::Prim(prim), Ty::Sum(id)] if is_node(*id) => Some((*number, Returned::WithNode(*prim, *id))),
            _ => None,
        })
        .collect();
    let recursive = functions.iter().filter(|(_, function)| function.recursive).map(|(number, _)| *number).collect();
    for (number, function) in functions {
        let printer = Printer {
            layouts,
            function,
            function_names: &names,
            returning: &returning,
            returns: returning.get(number).copied(),
            recursive: &recursive,
            depth: if function.recursive { "depth" } else { CONTEXT_DEPTH },
            names: local_names(function),
            out: &mut String::new(),
            printed: &mut printed,
            chunks_count: 0,
            chunk_names: FxHashMap::default(),
            arrays: &mut arrays,
            indent: 1,
            in_lanes: FxHashSet::default(),
            memory_in_lanes: FxHashMap::default(),
            strict: shared.strict,
            steady: FxHashSet::default(),
            masks: false,
        };
        printer.function(memos.iter().position(|memo| memo == number));
    }
    let deep = functions.iter().any(|(_, function)| function.recursive);
    let stack = if deep { 64 << 10 } else { 8 };
    let mut entries = format!(
        "CW_SHARED cw_needs cw_needs_of_program(void) {{\n  return (cw_needs){{.memos = {}, .worker_stack = (size_t){stack} << 20}};\n}}\n\n",
        memos.len()
    );
    print_entries(program, functions, layouts, &mut arrays, &mut entries);
    let mut types = String::new();
    sums::print(layouts, &mut arrays, &mut types);
    let returned: BTreeSet<String> = returning.values().map(|returned| returned.definition(layouts)).collect();
    types.extend(returned);
    let mut text = CText { types, functions: printed, entries, ..CText::default() };
    let is_half = |text: &str| text.contains(c_type(Prim::F16));
    text.half = is_half(&text.types)
        || is_half(&text.entries)
        || text
            .functions
            .iter()
            .any(|function| is_half(&function.types) || is_half(&function.signature) || is_half(&function.text));
    if text.has_forks() {
        text.settings.push_str("#define CW_FORKS 1\n");
    }
    if shared.strict {
        text.settings.push_str("#define CW_STRICT 1\n");
    }
    if profiled_lines > 0 {
        let _ = writeln!(text.settings, "#define CW_PROFILE {profiled_lines}");
    }
    text
}

/// A name for every local, unique in its function. The number makes it no word of C and no function of the library.
fn local_names(function: &Function) -> Vec<String> {
    let mut counts: FxHashMap<&str, u32> = FxHashMap::default();
    let mut taken: FxHashSet<String> = FxHashSet::default();
    function
        .locals
        .iter()
        .map(|local| {
            loop {
                let count = counts.entry(&local.name).or_insert(0);
                *count += 1;
                let name = format!("{}_{count}", local.name);
                if taken.insert(name.clone()) {
                    return name;
                }
            }
        })
        .collect()
}

pub(super) fn type_name(ty: &Ty, layouts: &Layouts) -> String {
    match ty {
        Ty::Prim(prim) => c_type(*prim).to_owned(),
        Ty::Data(elem) => format!("{} *", elem_name(*elem, layouts)),
        Ty::Owner => String::from("cw_block *"),
        Ty::Sum(id) => sums::name(*id, layouts),
        Ty::Array(elem, rank) => sums::array_name(*elem, *rank, layouts),
        Ty::Place(inner) => format!("{} *", type_name(inner, layouts)),
        Ty::Log | Ty::Counter => String::from("cw_rows *"),
    }
}

pub(super) fn elem_name(elem: Elem, layouts: &Layouts) -> String {
    match elem {
        Elem::Prim(prim) => c_type(prim).to_owned(),
        Elem::Unit => String::from("char"),
        Elem::Sum(id) => sums::name(id, layouts),
    }
}

fn declaration(ty: &Ty, name: &str, layouts: &Layouts) -> String {
    let ty = type_name(ty, layouts);
    match ty.ends_with('*') {
        true => format!("{ty}{name}"),
        false => format!("{ty} {name}"),
    }
}

/// What a recursive function returns in registers, and whether it failed.
#[derive(Clone, Copy)]
pub(super) enum Returned {
    Number(Prim),
    /// A number and a node of a recursive type, as the forward part of a function does; there is a node that stands for failure.
    WithNode(Prim, SumId),
}

impl Returned {
    fn name(self, layouts: &Layouts) -> String {
        match self {
            Returned::Number(prim) => format!("cw_result_{}", prim.name()),
            Returned::WithNode(prim, id) => format!("cw_result_{}_{}", prim.name(), sums::name(id, layouts)),
        }
    }

    fn definition(self, layouts: &Layouts) -> String {
        let name = self.name(layouts);
        match self {
            Returned::Number(prim) => format!("typedef struct {{ {} value; int failed; }} {name};\n", c_type(prim)),
            Returned::WithNode(prim, id) => {
                format!("typedef struct {{ {} value; {} node; }} {name};\n", c_type(prim), sums::name(id, layouts))
            }
        }
    }
}

/// What a function returns, its name and its parameters.
fn signature(function: &Function, returns: Option<Returned>, layouts: &Layouts, names: &[String]) -> String {
    let mut params = vec![String::from("cw_context *ctx")];
    if function.recursive {
        params.push(String::from("int64_t depth"));
    }
    for param in &function.params {
        let info = &function.locals[param.0 as usize];
        params.push(declaration(&info.ty, &names[param.0 as usize], layouts));
    }
    if let Some(returned) = returns {
        return format!("{} {}({})", returned.name(layouts), function.name, params.join(", "));
    }
    for (number, ty) in function.results.iter().enumerate() {
        params.push(declaration(&Ty::Place(Box::new(ty.clone())), &format!("result{number}"), layouts));
    }
    format!("int {}({})", function.name, params.join(", "))
}

impl Printer<'_> {
    /// The columns of a log grow together, so one test per row is enough.
    fn append(&mut self, log: &Exp, row: Local, values: &[(Elem, Exp)], site: SiteId) {
        let log = self.exp(log);
        if values.is_empty() {
            let declared = self.declare(row);
            self.line(&format!("{declared} = {log}->start + cw_count(ctx, &{log}->count, 1) - 1;"));
            return;
        }
        let sizes: Vec<String> = values.iter().map(|(elem, _)| format!("sizeof({})", elem_name(*elem, self.layouts))).collect();
        let count = sizes.len();
        let sizes = sizes.join(", ");
        self.line(&format!(
            "if (cw_unlikely({log}->count == {log}->room) && cw_grow_rows(ctx, {log}, {count}, (const int64_t[]){{{sizes}}})) {}",
            self.failure(site, "CW_MEMORY")
        ));
        for (at, (elem, value)) in values.iter().enumerate() {
            let (ty, value) = (elem_name(*elem, self.layouts), self.exp(value));
            self.line(&format!("(({ty} *)({log}->columns[{at}] + 1))[{log}->count] = {value};"));
        }
        let declared = self.declare(row);
        self.line(&format!("{declared} = {log}->start + {log}->count++;"));
    }
}

struct Printer<'a> {
    layouts: &'a Layouts,
    function: &'a Function,
    function_names: &'a FxHashMap<usize, &'a str>,
    /// Functions that return their one result in a register, beside whether they failed.
    returning: &'a FxHashMap<usize, Returned>,
    /// What the function that is printed returns so.
    returns: Option<Returned>,
    /// Functions that may call themselves: they are told how deep they are.
    recursive: &'a FxHashSet<usize>,
    /// How deep the function that is printed is.
    depth: &'static str,
    names: Vec<String>,
    out: &'a mut String,
    /// Functions that are complete: those for chunks of loops stand in front of the function.
    printed: &'a mut Vec<FunctionText>,
    chunks_count: usize,
    /// Of the loops in chunks that were printed, by their indices.
    chunk_names: FxHashMap<Local, String>,
    arrays: &'a mut sums::Arrays,
    indent: usize,
    /// Locals that are arrays with a place for each lane, where lanes are printed.
    in_lanes: FxHashSet<Local>,
    /// Arrays with so many lanes for each element.
    memory_in_lanes: FxHashMap<Local, usize>,
    strict: bool,
    /// Cotangents that are the same all through the loop around, which runs in vectors, and are scaled several times in it.
    steady: FxHashSet<Local>,
    /// Whether products with cotangents are chosen rather than jumped over: in vectors, and in short loops that hand cotangents on.
    masks: bool,
}

impl Printer<'_> {
    fn function(mut self, memo: Option<usize>) {
        let comment = match self.function.comment.as_str() {
            "" => String::new(),
            comment => format!("/* {} */\n", comment.replace("*/", "* /")),
        };
        self.out.push_str("{\n");
        if let Some(memo) = memo {
            self.open_memo(memo);
        }
        if self.function.recursive {
            let site = self.function.site;
            self.line("int64_t outer_depth = ctx->depth;");
            self.line("(void)outer_depth;");
            self.line("int32_t problem = cw_enter(ctx, depth);");
            self.line(&format!("if (cw_unlikely(problem)) {}", self.failure(site, "problem")));
        }
        for (pointer, local) in &self.function.written_back {
            let (declaration, pointer) = (self.declare(*local), self.name(*pointer));
            self.line(&format!("{declaration} = *{pointer};"));
        }
        let body = &self.function.body;
        self.stms(body);
        for (pointer, local) in &self.function.written_back {
            let (pointer, local) = (self.name(*pointer), self.name(*local));
            self.line(&format!("*{pointer} = {local};"));
        }
        let returned: Vec<String> = self.function.returned.iter().map(|exp| self.exp(exp)).collect();
        if self.returns.is_none() {
            for (number, exp) in returned.iter().enumerate() {
                self.line(&format!("*result{number} = {exp};"));
            }
        }
        if let Some(memo) = memo {
            self.close_memo(memo);
        }
        match (self.returns.map(|returns| returns.name(self.layouts)), returned.as_slice()) {
            (Some(name), [value]) => self.line(&format!("return ({name}){{.value = {value}}};")),
            (Some(name), [value, node]) => self.line(&format!("return ({name}){{.value = {value}, .node = {node}}};")),
            _ => self.line("return 0;"),
        }
        self.out.push_str("}\n\n");
        self.printed.push(FunctionText {
            comment,
            types: String::new(),
            signature: signature(self.function, self.returns, self.layouts, &self.names),
            text: std::mem::take(self.out),
            // It unrolls a recursion by a few calls if it is told that this is wanted: where nothing goes through memory, it pays.
            is_inline: self.function.recursive && (self.returns.is_some() || self.function.results.is_empty()),
            is_called_before: true,
        });
    }

    /// Tells how deep this is to what counts on from there, as long as it runs.
    fn state_depth(&mut self) {
        if self.depth != CONTEXT_DEPTH {
            self.line(&format!("{CONTEXT_DEPTH} = {};", self.depth));
        }
    }

    fn restore_depth(&mut self) {
        if self.depth != CONTEXT_DEPTH {
            self.line(&format!("{CONTEXT_DEPTH} = outer_depth;"));
        }
    }

    /// The statement that leaves the function with an error.
    fn leave(&self, error: &str) -> String {
        match self.returns {
            None => format!("return {error};"),
            Some(returned @ Returned::Number(_)) => format!("return ({}){{.failed = {error}}};", returned.name(self.layouts)),
            Some(returned @ Returned::WithNode(..)) => {
                format!("{{ (void){error}; return ({}){{.node = CW_FAILED_NODE}}; }}", returned.name(self.layouts))
            }
        }
    }

    /// The same for an error that begins here, without values.
    fn failure(&self, site: SiteId, kind: &str) -> String {
        self.leave(&format!("cw_fail(ctx, {}, {kind}, 0, NULL)", site.0))
    }

    fn open_memo(&mut self, memo: usize) {
        let mut fields = String::new();
        for (number, ty) in self.function.results.iter().enumerate() {
            let _ = write!(fields, "{}; ", declaration(ty, &format!("r{number}"), self.layouts));
        }
        self.line(&format!("struct memo {{ char unused; {fields}}} *memo = ctx->memo[{memo}];"));
        self.line("if (memo != NULL) {");
        for number in 0..self.function.results.len() {
            self.line(&format!("  *result{number} = memo->r{number};"));
        }
        self.line("  return 0;");
        self.line("}");
    }

    fn close_memo(&mut self, memo: usize) {
        let site = self.function.site.0;
        self.line("memo = (struct memo *)cw_bump(ctx, (int64_t)sizeof *memo, 64);");
        self.line(&format!("if (memo == NULL) return cw_fail(ctx, {site}, CW_MEMORY, 0, NULL);"));
        for number in 0..self.function.results.len() {
            self.line(&format!("memo->r{number} = *result{number};"));
        }
        self.line(&format!("ctx->memo[{memo}] = memo;"));
    }

    fn line(&mut self, text: &str) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn name(&self, local: Local) -> String {
        self.names[local.0 as usize].clone()
    }

    /// The declaration of a local; where it has lanes it is declared already.
    fn declare(&self, local: Local) -> String {
        if self.in_lanes.contains(&local) {
            return self.name(local);
        }
        let info = &self.function.locals[local.0 as usize];
        declaration(&info.ty, &self.names[local.0 as usize], self.layouts)
    }

    fn nested(&mut self, stms: &[Stm]) {
        self.indent += 1;
        self.stms(stms);
        self.indent -= 1;
    }

    fn stms(&mut self, stms: &[Stm]) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || stms.iter().for_each(|stm| self.stm(stm)));
    }

    fn stm(&mut self, stm: &Stm) {
        match stm {
            Stm::Let(local, exp) => {
                let (declaration, exp) = (self.declare(*local), self.exp(exp));
                self.line(&format!("{declaration} = {exp};"));
            }
            Stm::Declare(local) => {
                let declaration = self.declare(*local);
                let zero = match &self.function.locals[local.0 as usize].ty {
                    Ty::Prim(_) => "0",
                    Ty::Sum(id) if !self.layouts.get(*id).recursive => "{0}",
                    Ty::Array(..) => "{0}",
                    _ => "NULL",
                };
                self.line(&format!("{declaration} = {zero};"));
            }
            Stm::Assign(local, exp) => {
                let (name, exp) = (self.name(*local), self.exp(exp));
                self.line(&format!("{name} = {exp};"));
            }
            Stm::Store { data, at, value } => {
                let (element, value) = (self.element(data, at), self.exp(value));
                self.line(&format!("{element} = {value};"));
            }
            Stm::Table { data, values } => {
                let Some(first) = values.first() else { return };
                let (data, ty) = (self.exp(data), c_type(first.prim()));
                self.line(&format!("{{ static const {ty} table[{}] = {{", values.len()));
                for row in values.chunks(8) {
                    let row: Vec<String> = row.iter().map(|value| constant(*value)).collect();
                    self.line(&format!("  {},", row.join(", ")));
                }
                self.line(&format!("}}; memcpy({data}, table, sizeof table); }}"));
            }
            Stm::Put { place: Exp::Tag(_, id), .. } if !sums::has_tag(*id, self.layouts) => {}
            Stm::Put { place, value } => {
                let place = match place {
                    Exp::Tag(sum, id) => sums::tag_place(*id, &self.exp(sum), self.layouts),
                    place => self.exp(place),
                };
                let value = self.exp(value);
                self.line(&format!("{place} = {value};"));
            }
            Stm::For { index, bound, body, mark, independent } => {
                let bound = self.exp(bound);
                match independent {
                    Some(_) => self.independent_loop(*index, "0", &bound, body, mark),
                    None => self.for_loop(*index, "0", &bound, body, mark),
                }
            }
            Stm::Parallel(parallel) => self.parallel(parallel),
            Stm::Steps(steps) => self.steps(steps),
            Stm::Fork(fork) => self.fork(fork),
            Stm::Forever(body) => {
                self.line("for (;;) {");
                self.nested(body);
                self.line("}");
            }
            Stm::BreakUnless(exp) => {
                let exp = self.exp(exp);
                self.line(&format!("if (!{exp}) break;"));
            }
            Stm::If { condition, then, otherwise } => {
                let condition = self.condition(condition);
                self.line(&format!("if ({condition}) {{"));
                self.nested(then);
                if !otherwise.is_empty() {
                    self.line("} else {");
                    self.nested(otherwise);
                }
                self.line("}");
            }
            Stm::Switch { tag, cases, otherwise } => {
                // Not a `switch`: a `break` inside must leave the loop around it.
                let tag = self.exp(tag);
                for (number, (value, stms)) in cases.iter().enumerate() {
                    let before = if number == 0 { "" } else { "} else " };
                    self.line(&format!("{before}if ({tag} == {value}) {{"));
                    self.nested(stms);
                }
                self.line(if cases.is_empty() { "{" } else { "} else {" });
                self.nested(otherwise);
                self.line("}");
            }
            Stm::Call { function, args, results, site } => self.call(*function, args, results, *site),
            Stm::Alloc { owner, data, elem, dims, zeroed, site } => self.alloc(*owner, *data, *elem, dims, *zeroed, *site),
            Stm::Room { data, elem, count } => {
                let line = format!("{} {}[{count}];", elem_name(*elem, self.layouts), self.name(*data));
                self.line(&line);
            }
            Stm::Grow { owner, data, elem, count, row, site } => {
                let (count, row) = (self.exp(count), self.exp(row));
                let (owner, data, elem_type) = (self.name(*owner), self.name(*data), elem_name(*elem, self.layouts));
                let zeroed = matches!(elem, Elem::Sum(_));
                // Mostly there is room.
                self.line(&format!("if (cw_unlikely(cw_is_full({owner}, sizeof({elem_type}), {count}, {row}))) {{"));
                self.line(&format!(
                    "  if (cw_grow(ctx, &{owner}, sizeof({elem_type}), {count}, {row}, {zeroed})) {}",
                    self.failure(*site, "CW_MEMORY")
                ));
                self.line(&format!("  {data} = ({elem_type} *)({owner} + 1);"));
                self.line("}");
            }
            Stm::OpenLog { log, columns, start } => {
                let (name, start, count) = (self.name(*log).to_owned(), self.exp(start), (*columns).max(1));
                self.line(&format!("cw_block *{name}_columns[{count}] = {{0}};"));
                self.line(&format!(
                    "cw_rows {name}_rows = {{.start = {start}, .columns = {name}_columns}}, *{name} = &{name}_rows;"
                ));
            }
            Stm::Append { log, row, values, site } => self.append(log, *row, values, *site),
            Stm::CloseLog { log, count, columns } => {
                let log = self.name(*log).to_owned();
                let declared = self.declare(*count);
                self.line(&format!("{declared} = {log}->count;"));
                for (at, column) in columns.iter().enumerate() {
                    let (owner, data) = (self.declare(column.owner), self.declare(column.data));
                    let elem = elem_name(column.elem, self.layouts);
                    self.line(&format!("{owner} = {log}->columns[{at}];"));
                    let name = self.name(column.owner).to_owned();
                    self.line(&format!("{data} = {name} == NULL ? NULL : ({elem} *)({name} + 1);"));
                }
            }
            Stm::AllocNode { node, sum, site } => {
                let (declaration, name) = (self.declare(*node), self.name(*node));
                let ty = sums::name(*sum, self.layouts);
                self.line(&format!("{declaration} = ({ty})cw_node(ctx, sizeof *{name});"));
                self.line(&format!("if (cw_unlikely({name} == NULL)) {}", self.failure(*site, "CW_MEMORY")));
            }
            Stm::Retain(exp, counted) => {
                let exp = self.exp(exp);
                match counted {
                    Counted::Block(_) => self.line(&format!("cw_retain(ctx, {exp});")),
                    Counted::Sum(id) => {
                        let name = sums::name(*id, self.layouts);
                        self.line(&format!("retain_{name}(ctx, {exp});"));
                    }
                }
            }
            Stm::Release(exp, counted) => {
                let exp = self.exp(exp);
                let text = match counted {
                    Counted::Block(elem) => sums::release_block(*elem, &exp, self.layouts),
                    Counted::Sum(id) => format!("release_{}(ctx, {exp});", sums::name(*id, self.layouts)),
                };
                self.line(&text);
            }
            Stm::Run(name, args) => {
                let args = self.list(args);
                self.line(&format!("{name}({args});"));
            }
            Stm::TrySum(function, id, args, site) => {
                let (name, args) = (sums::name(*id, self.layouts), self.list(args));
                let function = match function {
                    SumFunction::AddTo => "add_to",
                    SumFunction::MakeUnique => "make_unique",
                };
                self.line(&format!("if ({function}_{name}(ctx, {args}, {})) {}", site.0, self.leave("1")));
            }
            Stm::CopyElements { elem, to, from, count } => {
                let (to, from, count) = (self.exp(to), self.exp(from), self.exp(count));
                let text = match elem {
                    Elem::Sum(id) if self.layouts.counted(&Ty::Sum(*id)) => {
                        format!("copy_{}(ctx, {to}, {from}, {count});", sums::name(*id, self.layouts))
                    }
                    elem => {
                        let elem = elem_name(*elem, self.layouts);
                        format!("cw_copy(ctx, {to}, {from}, {count}, sizeof({elem}));")
                    }
                };
                self.line(&text);
            }
            Stm::Fail { condition, kind, values, site } => self.fail(condition, *kind, values, *site),
            Stm::Write(exp, ty) => {
                let exp = self.exp(exp);
                let text = sums::write_value(ty, &exp, self.layouts, self.arrays);
                self.line(&text);
            }
            Stm::Trace(site) => self.line(&format!("cw_trace(ctx, {});", site.0)),
            Stm::Tick(site) => self.line(&format!("if (cw_tick(ctx)) {}", self.failure(*site, "CW_DEADLINE"))),
            Stm::Comment(text) => self.line(&format!("/* {} */", text.replace("*/", "* /"))),
        }
    }

    fn for_loop(&mut self, index: Local, from: &str, to: &str, body: &[Stm], mark: &Mark) {
        let steady = if *mark == Mark::Sequential { FxHashSet::default() } else { steady_cotangents(index, body) };
        let masks = *mark != Mark::Sequential || !self.in_lanes.is_empty() || scales_little(body);
        let outer = (std::mem::replace(&mut self.steady, steady), std::mem::replace(&mut self.masks, masks));
        self.marked_loop(index, from, to, body, mark);
        (self.steady, self.masks) = outer;
    }

    fn marked_loop(&mut self, index: Local, from: &str, to: &str, body: &[Stm], mark: &Mark) {
        match mark {
            Mark::Lanes(lanes) => self.lanes(index, from, to, body, lanes),
            Mark::Prefixes(combine, total) => self.prefixes(index, from, to, body, *combine, *total),
            _ if self.in_ranges(index, from, to, body, mark) || self.by_choice(index, from, to, body, mark) => {}
            _ => self.whole_loop(index, from, to, body, mark),
        }
    }

    pub(super) fn whole_loop(&mut self, index: Local, from: &str, to: &str, body: &[Stm], mark: &Mark) {
        match mark {
            Mark::Sequential => {}
            Mark::Independent => self.line("#pragma GCC ivdep"),
            Mark::Lanes(_) | Mark::Prefixes(..) => {}
            Mark::Reduction(reductions) => {
                let clauses = self.reduction_clauses("", reductions);
                self.line(&format!("#pragma omp simd {clauses}"));
            }
        }
        let (declaration, name) = (self.declare(index), self.name(index));
        self.line(&format!("for ({declaration} = {from}; {name} < {to}; {name}++) {{"));
        self.nested(body);
        self.line("}");
    }

    /// A scan in vectors: what makes an element, then what uses the total up to it.
    fn prefixes(&mut self, index: Local, from: &str, to: &str, body: &[Stm], combine: Combine, total: Local) {
        let is_total = |stm: &Stm| matches!(stm, Stm::Assign(local, _) if *local == total);
        let (before, after) = body.split_at(body.iter().position(is_total).map_or(body.len(), |at| at + 1));
        let clauses = self.reduction_clauses("inscan, ", &[(combine, total)]);
        self.line(&format!("#pragma omp simd {clauses}"));
        let (declaration, name) = (self.declare(index), self.name(index));
        self.line(&format!("for ({declaration} = {from}; {name} < {to}; {name}++) {{"));
        // Each of the two parts is one statement.
        self.line("{");
        self.nested(before);
        self.line("}");
        let line = format!("#pragma omp scan inclusive({})", self.name(total));
        self.line(&line);
        self.line("{");
        self.nested(after);
        self.line("}");
        self.line("}");
    }

    fn reduction_clauses(&self, how: &str, reductions: &[(Combine, Local)]) -> String {
        let clause = |(combine, local): &(Combine, Local)| {
            let sign = match combine {
                Combine::Add => "+",
                Combine::Multiply => "*",
                Combine::And => "&",
                Combine::Or => "|",
                Combine::Xor => "^",
                Combine::Minimum => "min",
                Combine::Maximum => "max",
            };
            format!("reduction({how}{sign}:{})", self.name(*local))
        };
        reductions.iter().map(clause).collect::<Vec<_>>().join(" ")
    }

    fn call(&mut self, function: usize, args: &[Exp], results: &[Local], site: SiteId) {
        let mut passed = vec![String::from("ctx")];
        passed.extend(args.iter().map(|arg| self.exp(arg)));
        let name = self.function_names.get(&function).copied().unwrap_or("missing");
        let told = self.recursive.contains(&function);
        match told {
            true => passed.insert(1, format!("{} + 1", self.depth)),
            false => self.state_depth(),
        }
        let unwinding = self.leave(&format!("cw_unwind(ctx, {})", site.0));
        if let (Some(returned), [value, node @ ..]) = (self.returning.get(&function), results) {
            let (declaration, result) = (self.declare(*value), self.name(*value));
            self.line(&format!("{} {result}_or_error = {name}({});", returned.name(self.layouts), passed.join(", ")));
            let failed = if node.is_empty() { ".failed" } else { ".node == CW_FAILED_NODE" };
            self.line(&format!("if (cw_unlikely({result}_or_error{failed})) {unwinding}"));
            self.line(&format!("{declaration} = {result}_or_error.value;"));
            for node in node {
                let declaration = self.declare(*node);
                self.line(&format!("{declaration} = {result}_or_error.node;"));
            }
            return;
        }
        for local in results {
            let declaration = self.declare(*local);
            self.line(&format!("{declaration};"));
        }
        // Results go through locals of their own: what had its address taken is slow to work with.
        if !results.is_empty() {
            self.line("{");
            self.indent += 1;
            for (number, local) in results.iter().enumerate() {
                let ty = &self.function.locals[local.0 as usize].ty;
                let out = declaration(ty, &format!("out{number}"), self.layouts);
                self.line(&format!("{out};"));
                passed.push(format!("&out{number}"));
            }
        }
        self.line(&format!("if (cw_unlikely({name}({}))) {unwinding}", passed.join(", ")));
        if !results.is_empty() {
            for (number, local) in results.iter().enumerate() {
                let name = self.name(*local);
                self.line(&format!("{name} = out{number};"));
            }
            self.indent -= 1;
            self.line("}");
        }
        if !told {
            self.restore_depth();
        }
    }

    fn alloc(&mut self, owner: Local, data: Local, elem: Elem, dims: &[Exp], zeroed: bool, site: SiteId) {
        let sizes = self.list(dims);
        let (owner_name, elem) = (self.name(owner), elem_name(elem, self.layouts));
        let (owner, data) = (self.declare_or_name(owner), self.declare_or_name(data));
        // Nobody looks into an array that is empty, so it needs no memory.
        if dims.contains(&Exp::i64(0)) {
            self.line(&format!("{owner} = NULL;"));
            self.line(&format!("{data} = NULL;"));
            return;
        }
        self.line(&format!("{owner} = cw_alloc(ctx, sizeof({elem}), {}, (const int64_t[]){{{sizes}}}, {zeroed});", dims.len()));
        self.line(&format!("if (cw_unlikely({owner_name} == NULL)) {}", self.failure(site, "CW_MEMORY")));
        self.line(&format!("{data} = ({elem} *)({owner_name} + 1);"));
    }

    /// What a local is set by: one that was declared before is assigned.
    fn declare_or_name(&self, local: Local) -> String {
        if self.is_declared(local) { self.name(local) } else { self.declare(local) }
    }

    /// An element of an array.
    fn element(&mut self, data: &Exp, at: &Exp) -> String {
        let lanes = match data {
            Exp::Local(local) => self.memory_in_lanes.get(local).copied(),
            _ => None,
        };
        let (data, at) = (self.exp(data), self.exp(at));
        match lanes {
            Some(lanes) => format!("{data}[({at}) * {lanes} + lane]"),
            None => format!("{data}[{at}]"),
        }
    }

    /// Whether some statement declares the local without a value.
    fn is_declared(&self, local: Local) -> bool {
        fn inside(stms: &[Stm], local: Local) -> bool {
            stms.iter().any(|stm| match stm {
                Stm::Declare(declared) => *declared == local,
                Stm::For { body, .. } | Stm::Forever(body) => inside(body, local),
                Stm::Parallel(parallel) => inside(&parallel.body, local),
                Stm::Steps(steps) => inside(&steps.body, local),
                Stm::Fork(fork) => inside(&fork.left, local) || inside(&fork.right, local),
                Stm::If { then, otherwise, .. } => inside(then, local) || inside(otherwise, local),
                Stm::Switch { cases, otherwise, .. } => {
                    cases.iter().any(|(_, stms)| inside(stms, local)) || inside(otherwise, local)
                }
                _ => false,
            })
        }
        inside(&self.function.body, local)
    }

    fn fail(&mut self, condition: &Exp, kind: FailKind, values: &[Exp], site: SiteId) {
        let name = match kind {
            FailKind::Index => "CW_INDEX",
            FailKind::Slice => "CW_SLICE",
            FailKind::Irregular => "CW_IRREGULAR",
            FailKind::IrregularFirst => "CW_IRREGULAR_FIRST",
            FailKind::Reshape => "CW_RESHAPE",
            FailKind::Concat => "CW_CONCAT",
            FailKind::Write => "CW_WRITE",
            FailKind::AddShapes => "CW_ADD_SHAPES",
            FailKind::Operator => "CW_OPERATOR",
            FailKind::DivisionByZero => "CW_DIVISION",
            FailKind::NegativeExponent => "CW_EXPONENT",
            FailKind::Assertion => "CW_ASSERTION",
            FailKind::Memory => "CW_MEMORY",
            FailKind::Deadline => "CW_DEADLINE",
            FailKind::Depth => "CW_DEPTH",
            FailKind::OtherConstructor => "CW_OTHER_CONSTRUCTOR",
            FailKind::AddConstructors => "CW_ADD_CONSTRUCTORS",
        };
        let list = self.list(values);
        let condition = self.condition(condition);
        let (count, site) = (values.len(), site.0);
        let leaving = self.leave(&match count {
            0 => format!("cw_fail(ctx, {site}, {name}, 0, NULL)"),
            2 => format!("cw_fail_with(ctx, {site}, {name}, {list})"),
            _ => format!("cw_fail(ctx, {site}, {name}, {count}, (const int64_t[]){{{list}}})"),
        });
        self.line(&format!("if (cw_unlikely({condition})) {leaving}"));
    }

    fn list(&mut self, exps: &[Exp]) -> String {
        let texts: Vec<String> = exps.iter().map(|exp| self.exp(exp)).collect();
        texts.join(", ")
    }

    /// An expression that has parentheses around it already.
    fn condition(&mut self, exp: &Exp) -> String {
        let text = self.exp(exp);
        match exp {
            Exp::Test(..) | Exp::And(..) | Exp::Or(..) => text[1..text.len() - 1].to_owned(),
            _ => text,
        }
    }

    fn exp(&mut self, exp: &Exp) -> String {
        match exp {
            Exp::Local(local) => self.name(*local),
            Exp::Const(value) => constant(*value),
            Exp::Null => String::from("NULL"),
            Exp::Context => String::from("ctx"),
            Exp::Prim(op, args) => {
                let op = without_test(*op, args);
                let texts: Vec<String> = args.iter().map(|arg| self.exp(arg)).collect();
                match (op, args.as_slice()) {
                    (PrimOp::Binary(BinaryOp::Scale, prim @ (Prim::F32 | Prim::F64)), [Exp::Local(cotangent), _])
                        if self.steady.contains(cotangent) =>
                    {
                        format!("cw_scale_each_{}({})", prim.name(), texts.join(", "))
                    }
                    (PrimOp::Binary(BinaryOp::Scale, prim @ (Prim::F32 | Prim::F64)), _) if self.masks => {
                        format!("cw_scale_masked_{}({})", prim.name(), texts.join(", "))
                    }
                    (PrimOp::Binary(BinaryOp::Pow, prim), [_, Exp::Const(exponent)]) => power(prim, &texts, *exponent),
                    _ => operation(op, &texts),
                }
            }
            Exp::Add(a, b) => format!("({} + {})", self.exp(a), self.exp(b)),
            Exp::Sub(a, b) => format!("({} - {})", self.exp(a), self.exp(b)),
            Exp::Mul(a, b) => format!("({} * {})", self.exp(a), self.exp(b)),
            Exp::AtLeastZero(a) => format!("cw_at_least_zero({})", self.exp(a)),
            Exp::Test(test, a, b) => {
                let (a, b) = (self.exp(a), self.exp(b));
                match test {
                    Test::Equal => format!("({a} == {b})"),
                    Test::NotEqual => format!("({a} != {b})"),
                    Test::Less => format!("({a} < {b})"),
                    Test::Outside => format!("((uint64_t){a} >= (uint64_t){b})"),
                }
            }
            Exp::And(a, b) => format!("({} && {})", self.exp(a), self.exp(b)),
            Exp::Or(a, b) => format!("({} || {})", self.exp(a), self.exp(b)),
            Exp::Not(a) => format!("!{}", self.exp(a)),
            Exp::Select(c, a, b) => format!("({} ? {} : {})", self.exp(c), self.exp(a), self.exp(b)),
            Exp::Load(data, at) => self.element(data, at),
            Exp::At(data, at) => format!("({} + {})", self.exp(data), self.exp(at)),
            Exp::Deref(pointer) => format!("(*{})", self.exp(pointer)),
            Exp::AddressOf(place) => format!("(&{})", self.exp(place)),
            Exp::Tag(sum, id) => sums::tag(*id, &self.exp(sum), self.layouts),
            Exp::Payload { sum, id, tag, field } => {
                let access = if self.layouts.get(*id).recursive { "->" } else { "." };
                format!("{}{access}u.c{tag}.f{field}", self.exp(sum))
            }
            Exp::Part(array, part) => {
                let array = self.exp(array);
                match part {
                    Part::Data => format!("{array}.data"),
                    Part::Owner => format!("{array}.owner"),
                    Part::Dim(axis) => format!("{array}.n[{axis}]"),
                }
            }
            Exp::Array { elem, data, owner, dims } => {
                let name = self.arrays.use_array(*elem, dims.len(), self.layouts);
                let (data, owner, dims) = (self.exp(data), self.exp(owner), self.list(dims));
                format!("({name}){{{data}, {owner}, {{{dims}}}}}")
            }
            Exp::Runtime(name, args) => format!("{name}({})", self.list(args)),
        }
    }
}

/// Whether a body has a few products with cotangents. Where there are many, jumps that are foreseen are faster.
fn scales_little(body: &[Stm]) -> bool {
    const FEW: usize = 8;
    let mut count = 0;
    for_each_stm(body, &mut |stm| {
        for_each_exp(stm, &mut |exp| {
            count += usize::from(matches!(exp, Exp::Prim(PrimOp::Binary(BinaryOp::Scale, _), _)));
        });
    });
    count <= FEW
}

/// What a loop scales several times and does not change: locals that are older than its counter.
fn steady_cotangents(index: Local, body: &[Stm]) -> FxHashSet<Local> {
    let mut counts: FxHashMap<Local, usize> = FxHashMap::default();
    for_each_stm(body, &mut |stm| {
        for_each_exp(stm, &mut |exp| {
            if let Exp::Prim(PrimOp::Binary(BinaryOp::Scale, _), args) = exp
                && let [Exp::Local(cotangent), _] = args.as_slice()
                && *cotangent < index
            {
                *counts.entry(*cotangent).or_default() += 1;
            }
        });
    });
    counts.into_iter().filter(|(_, count)| *count > 1).map(|(local, _)| local).collect()
}

fn is_data(ty: &chadwick_core::Type) -> bool {
    match ty {
        chadwick_core::Type::Prim(_) => true,
        chadwick_core::Type::Array(array) => !matches!(array.element, chadwick_core::Element::Boxed(_)),
        _ => false,
    }
}

/// The functions that the host calls, behind one that goes by number.
fn print_entries(
    program: &Program,
    functions: &[(usize, Function)],
    layouts: &Layouts,
    arrays: &mut sums::Arrays,
    out: &mut String,
) {
    out.push_str("CW_HOST int cw_call(cw_context *ctx, int32_t entry, const cw_value *args, cw_value *results) {\n");
    out.push_str("  ctx->error.code = 0;\n  switch (entry) {\n");
    for (number, entry) in program.entries.iter().enumerate() {
        let callee = entry.function.0 as usize;
        let Some((_, function)) = functions.iter().find(|(number, _)| *number == callee) else { continue };
        let core = &program.functions[callee];
        // From outside come numbers and arrays of numbers only.
        if !core.params.iter().all(|param| is_data(&param.ty)) {
            continue;
        }
        let _ = writeln!(out, "  case {number}: {{ /* {} */", entry.name);
        let mut passed = vec![String::from("ctx")];
        for (at, param) in core.params.iter().enumerate() {
            match &param.ty {
                chadwick_core::Type::Array(array) => {
                    let elem = match &array.element {
                        chadwick_core::Element::Prim(prim) => c_type(*prim),
                        _ => "char",
                    };
                    passed.push(format!("({elem} *)args[{at}].data"));
                    passed.push(String::from("NULL"));
                    passed.extend((0..array.dims.len()).map(|axis| format!("args[{at}].shape[{axis}]")));
                }
                ty => {
                    let prim = ty.as_prim().unwrap_or(Prim::Bool);
                    passed.push(format!("*(const {} *)&args[{at}].scalar", c_type(prim)));
                }
            }
        }
        for (number, ty) in function.results.iter().enumerate() {
            let _ = writeln!(out, "    {};", declaration(ty, &format!("r{number}"), layouts));
            passed.push(format!("&r{number}"));
        }
        if function.recursive {
            passed.insert(1, String::from("1"));
        }
        let _ = writeln!(out, "    if ({}({})) return 1;", function.name, passed.join(", "));
        let mut part = 0;
        for (at, ty) in core.results.iter().enumerate() {
            match ty {
                chadwick_core::Type::Array(array) => {
                    let rank = array.dims.len();
                    if let chadwick_core::Element::Boxed(_) = array.element {
                        let types = function.results.get(part).cloned();
                        let elem = if let Some(Ty::Data(elem)) = types { elem } else { Elem::Unit };
                        let dims: Vec<String> = (0..rank).map(|axis| format!("r{}", part + 2 + axis)).collect();
                        let name = arrays.use_array(elem, rank, layouts);
                        let whole = format!("(({name}){{r{part}, r{}, {{{}}}}})", part + 1, dims.join(", "));
                        let _ = writeln!(out, "    {}", sums::write_value(&Ty::Array(elem, rank), &whole, layouts, arrays));
                    } else {
                        let _ = writeln!(out, "    results[{at}].data = r{part};");
                        for axis in 0..rank {
                            let _ = writeln!(out, "    results[{at}].shape[{axis}] = r{};", part + 2 + axis);
                        }
                    }
                    part += 2 + rank;
                }
                chadwick_core::Type::Prim(prim) => {
                    let _ = writeln!(out, "    *({} *)&results[{at}].scalar = r{part};", c_type(*prim));
                    part += 1;
                }
                _ => {
                    if let Some(ty) = function.results.get(part) {
                        let _ = writeln!(out, "    {}", sums::write_value(ty, &format!("r{part}"), layouts, arrays));
                    }
                    part += 1;
                }
            }
        }
        out.push_str("    return 0;\n  }\n");
    }
    out.push_str("  }\n  return 1;\n}\n\n");
}
