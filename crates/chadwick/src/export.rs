//! Programs as C libraries: a source file that stands alone, its header, and a description for tools.
//!
//! Nothing is written here; whoever wants files writes the texts.

use crate::derivative;
use crate::error::{Error, Result};
use crate::function::{Function, slots, value_type};
use crate::program::{Program, source_line, with_deep_stack};
use crate::render::{self, Style};
use crate::{compile, values::ValueType};
use chadwick_codegen::export::{ExportedFunction, Interface, Place, Slot, c_name, interface_type};
use chadwick_codegen::{Config, Site};
use chadwick_core::{Dim, Entry, EntryValue, Mode, Type};
pub use chadwick_runtime::{LibraryKind, Processor, Recipe};
use chadwick_source::{FileId, SourceMap, Span};
use chadwick_syntax::ast::{TypeExp, TypeExpKind};
use serde_json::{Map, Value as Json, json};
use std::path::Path;

/// What a library is made of.
#[derive(Clone, Debug)]
pub struct Options {
    /// Of the files, without an ending.
    pub name: String,
    /// In front of all C names.
    pub prefix: String,
    /// What to call the program in comments.
    pub origin: String,
    /// The entry points it offers; all that are possible if none is named.
    pub entries: Vec<String>,
    /// The entry points it also offers with their gradients.
    pub gradients: Vec<GradientOf>,
    /// How it is meant to be compiled.
    pub recipe: Recipe,
}

/// An entry point, and the parameters to differentiate it by; all floats if none is named.
#[derive(Clone, Debug)]
pub struct GradientOf {
    pub entry: String,
    pub by: Vec<String>,
}

/// The texts of a library.
#[derive(Clone, Debug)]
pub struct Library {
    pub source: String,
    pub header: String,
    /// JSON: what the header says, for tools.
    pub manifest: Json,
    /// Why entry points that nobody named are not in it.
    pub left_out: Vec<String>,
}

/// A function of the library, with what the manifest says of it.
struct Described {
    exported: ExportedFunction,
    json: Json,
}

/// Makes the texts of a library.
///
/// ```
/// use chadwick::{Program, export};
///
/// let program = Program::from_source("entry square (x: f64) = x * x")?;
/// let options = export::Options {
///     name: String::from("squares"),
///     prefix: String::from("squares"),
///     origin: String::from("an example"),
///     entries: Vec::new(),
///     gradients: vec![export::GradientOf { entry: String::from("square"), by: Vec::new() }],
///     recipe: export::Recipe {
///         kind: export::LibraryKind::Shared,
///         options: chadwick::NativeOptions::default(),
///         processor: export::Processor::Native,
///     },
/// };
/// let library = export::library(&program, &options)?;
/// assert!(library.header.contains("int squares_entry_square(squares_context *context,\n    double x,\n    double *out);"));
/// assert!(library.header.contains("squares_gradient_square"));
/// # Ok::<(), chadwick::Error>(())
/// ```
pub fn library(program: &Program, options: &Options) -> Result<Library> {
    let mut lowered = (*program.inner.lowered).clone();
    let (mut entries, mut functions, mut left_out): (Vec<Entry>, Vec<Described>, Vec<String>) = Default::default();
    let wanted = match options.entries.as_slice() {
        [] => program.entry_points().into_iter().map(|entry| entry.name).collect(),
        named => named.to_vec(),
    };
    for name in &wanted {
        let function = program.function(name)?;
        match refusal(&function) {
            Some(problem) if options.entries.is_empty() => left_out.push(problem),
            Some(problem) => return Err(Error::argument(problem)),
            None => {
                functions.push(describe_entry(&function, entries.len(), options));
                entries.push(lowered.entries[function.entry].clone());
            }
        }
    }
    for gradient in &options.gradients {
        let mut function = program.function(&gradient.entry)?;
        if let Some(problem) = refusal(&function) {
            return Err(Error::argument(problem));
        }
        if !gradient.by.is_empty() {
            function = function.wrt(&gradient.by)?;
        }
        function.gradient()?;
        let one = derivative::gradient_seed(&function);
        let wrt = function.wrt_arguments()?;
        let entry = function.add_derivative(&mut lowered, &wrt, Mode::Vjp, Some(vec![one]))?;
        functions.push(describe_gradient(&function, &wrt, &gradient.by, entries.len(), options)?);
        entries.push(entry);
    }
    if functions.is_empty() {
        let why = if left_out.is_empty() { String::from("the program has none") } else { left_out.join("; ") };
        return Err(Error::argument(format!("there is no entry point for a library: {why}")));
    }
    check_names(&functions)?;
    lowered.entries = entries;
    let map = &program.inner.map;
    let generated = with_deep_stack(|| {
        compile::differentiate(&mut lowered, compile::Engine::ChadFast)?;
        let source_line = |span: Span| source_line(map, span);
        Ok(chadwick_codegen::generate(
            &lowered,
            &Config { strict: options.recipe.options.strict, profiled: false, source_line: &source_line },
        ))
    })
    .map_err(|diagnostics| Error::compile(diagnostics, map.clone()))?;
    let (exported, described): (Vec<ExportedFunction>, Vec<Json>) =
        functions.into_iter().map(|function| (function.exported, function.json)).unzip();
    let command = command(options);
    let interface = Interface {
        prefix: options.prefix.clone(),
        header_name: format!("{}.h", options.name),
        origin: options.origin.clone(),
        command: command.clone(),
        functions: exported,
    };
    let places = places(&generated.sites, &lowered, map);
    let manifest = json!({
        "manifest": 1,
        "chadwick": env!("CARGO_PKG_VERSION"),
        "program": options.origin,
        "prefix": options.prefix,
        "floating_point": if options.recipe.options.strict { "strict" } else { "fast" },
        "compile": command,
        "entry_points": described,
    });
    Ok(Library { source: interface.source(&generated, &places), header: interface.header(), manifest, left_out })
}

/// Compiles a library's source file with the system's C compiler.
pub fn compile_library(source: &Path, target: &Path, recipe: Recipe) -> Result<()> {
    let compiler = chadwick_runtime::Compiler::find();
    let made = compiler.and_then(|compiler| compiler.library(source, target, recipe));
    made.map_err(|error| Error::NoNativeCode { message: error.to_string() })
}

/// The name of a compiled library's file.
pub fn library_file(name: &str, kind: LibraryKind) -> String {
    match kind {
        LibraryKind::Shared => format!("lib{name}{}", std::env::consts::DLL_SUFFIX),
        LibraryKind::Static => format!("lib{name}.a"),
    }
}

/// Whether a name can stand in front of C names.
pub fn is_prefix(text: &str) -> bool {
    c_name(text) == text
}

/// How to compile the source file by hand.
fn command(options: &Options) -> String {
    let (name, flags) = (&options.name, options.recipe.flags().join(" "));
    let target = library_file(name, options.recipe.kind);
    match options.recipe.kind {
        LibraryKind::Shared => format!("cc {flags} -o {target} {name}.c -lm"),
        LibraryKind::Static => format!("cc {flags} -o {name}.o {name}.c && ar rcs {target} {name}.o"),
    }
}

/// Why a function cannot be called from C, if it cannot.
fn refusal(function: &Function) -> Option<String> {
    let entry = function.core_entry();
    let is_opaque = |value: &&EntryValue| value.types.iter().any(|ty| value_type(ty).is_none());
    let because = |ty: &str| match ty.starts_with('[') {
        true => "whose elements may differ in size, or are no numbers or booleans",
        false => "which is no number, boolean or array of such",
    };
    if let Some(param) = entry.params.iter().find(is_opaque) {
        let name = if param.name.is_empty() { String::new() } else { format!(" `{}`", param.name) };
        return Some(format!(
            "parameter{name} of `{}` has type {}, {}",
            entry.name,
            param.source_type,
            because(&param.source_type)
        ));
    }
    let result = entry.results.iter().find(is_opaque)?;
    Some(format!("the result of `{}` has type {}, {}", entry.name, result.source_type, because(&result.source_type)))
}

/// The places of sites, and behind them those of the calls that these are inside of.
fn places(sites: &[Site], program: &chadwick_core::Program, map: &SourceMap) -> Vec<Place> {
    let place = |function: &str, span: Span| Place {
        snippet: Some(render::snippet(span, map, Style::default()).trim_end().to_owned()).filter(|text| !text.is_empty()),
        call: render::open_call(function, span, map),
        in_program: render::is_in_program(span, map),
        caller: None,
    };
    let mut places = vec![Place::default(); sites.len()];
    for (number, site) in sites.iter().enumerate() {
        let mut at = number;
        for (depth, (function, span)) in program.open_calls(&site.function, site.span).into_iter().enumerate() {
            if depth > 0 {
                places[at].caller = Some(places.len());
                at = places.len();
                places.push(Place::default());
            }
            places[at] = place(&function, span);
        }
    }
    places
}

fn check_names(functions: &[Described]) -> Result<()> {
    for (number, function) in functions.iter().enumerate() {
        if functions[..number].iter().any(|other| other.exported.c_name == function.exported.c_name) {
            return Err(Error::argument(format!("`{}` is asked for twice", function.exported.name)));
        }
    }
    Ok(())
}

/// Gives names that are not taken yet, and are none of the library's own.
struct Names {
    taken: Vec<String>,
    /// What names of the library begin with.
    prefix: String,
}

impl Names {
    fn fresh(&mut self, wanted: &str) -> String {
        let wanted = if wanted.starts_with(&self.prefix) { format!("{wanted}_") } else { wanted.to_owned() };
        let mut name = wanted.clone();
        let mut number = 1;
        while self.taken.contains(&name) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        // A pointer to sizes may come with it.
        self.taken.extend([name.clone(), format!("{name}_shape")]);
        name
    }
}

/// A value of an entry point: its name, its type as the source has it, its type, the sizes of its dimensions as text.
struct Flat<'a> {
    name: String,
    ty: &'a Type,
    data: ValueType,
    sizes: Vec<String>,
}

fn flat<'a>(values: &'a [EntryValue], names: &[String]) -> Vec<Flat<'a>> {
    let mut sizes = Vec::new();
    for value in values {
        sizes.extend(leaf_sizes(value));
    }
    slots(values)
        .into_iter()
        .zip(names.iter().zip(sizes))
        .filter_map(|((_, _, ty), (name, sizes))| Some(Flat { name: name.clone(), ty, data: value_type(ty)?, sizes }))
        .collect()
}

/// The sizes of every array that a value consists of, as the source writes them; `?` where it says nothing.
fn leaf_sizes(value: &EntryValue) -> Vec<Vec<String>> {
    let text = &value.source_type;
    let parsed = chadwick_syntax::parse_type(FileId::default(), text);
    let mut found = Vec::new();
    collect_sizes(&parsed.tree, text, &mut Vec::new(), &mut found);
    let rank = |ty: &Type| value_type(ty).map_or(0, |ty| ty.rank);
    let fits = parsed.diagnostics.is_empty()
        && found.len() == value.types.len()
        && found.iter().zip(&value.types).all(|(sizes, ty)| sizes.len() == rank(ty));
    match fits {
        true => found,
        false => value.types.iter().map(|ty| vec![String::from("?"); rank(ty)]).collect(),
    }
}

fn collect_sizes(ty: &TypeExp, text: &str, outer: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match &ty.kind {
        TypeExpKind::Array(size, element) => {
            let inside = size.exp.as_ref().and_then(|exp| text.get(exp.span.start as usize..exp.span.end as usize));
            outer.push(inside.unwrap_or("?").to_owned());
            collect_sizes(element, text, outer, found);
            outer.pop();
        }
        TypeExpKind::Tuple(parts) => parts.iter().for_each(|part| collect_sizes(part, text, outer, found)),
        TypeExpKind::Record(fields) => fields.iter().for_each(|(_, field)| collect_sizes(field, text, outer, found)),
        TypeExpKind::Unique(inner) | TypeExpKind::Exists(_, inner) => collect_sizes(inner, text, outer, found),
        _ => found.push(outer.clone()),
    }
}

/// The parts of a function that the primal and the gradient have in common.
struct Signature {
    params: Vec<Slot>,
    params_json: Vec<Json>,
    /// Every size that has a name, and where it is found.
    sizes: Vec<(String, Vec<String>)>,
    names: Names,
}

fn signature(function: &Function, options: &Options) -> Signature {
    let entry = function.core_entry();
    let mut names = Names { taken: vec![String::from("context")], prefix: format!("{}_", options.prefix) };
    let (mut params, mut params_json) = (Vec::new(), Vec::new());
    let mut sizes: Vec<(String, Vec<String>)> = Vec::new();
    let flats = flat(&entry.params, &function.argument_names());
    for value in &flats {
        let slot = slot(value, names.fresh(&c_name(&value.name)));
        let mut json = slot_json(value, &slot, interface_type(slot.prim).to_owned());
        if !slot.dims.is_empty() {
            json.insert(String::from("c_shape_name"), json!(format!("{}_shape", slot.c_name)));
        }
        params_json.push(Json::Object(json));
        for (axis, size) in value.sizes.iter().enumerate().filter(|(_, size)| is_size_name(size)) {
            let place = format!("{}[{axis}]", value.name);
            match sizes.iter_mut().find(|(name, _)| name == size) {
                Some((_, places)) => places.push(place),
                None => {
                    // A size may be a parameter itself.
                    let own = flats.iter().filter(|other| other.name == *size && other.sizes.is_empty()).map(|_| size.clone());
                    sizes.push((size.clone(), own.chain([place]).collect()));
                }
            }
        }
        params.push(slot);
    }
    Signature { params, params_json, sizes, names }
}

fn is_size_name(size: &str) -> bool {
    size.starts_with(|c: char| c.is_alphabetic() || c == '_') && size.chars().all(|c| c.is_alphanumeric() || "_'".contains(c))
}

fn slot(value: &Flat<'_>, c_name: String) -> Slot {
    let dims = match value.ty {
        Type::Array(array) => array.dims.clone(),
        _ => Vec::new(),
    };
    Slot { c_name, name: value.name.clone(), prim: value.data.prim, dims }
}

fn slot_json(value: &Flat<'_>, slot: &Slot, c_type: String) -> Map<String, Json> {
    let shape: Vec<Json> = value
        .sizes
        .iter()
        .zip(&slot.dims)
        .map(|(size, dim)| match (*dim, size.parse::<i64>()) {
            (Dim::Const(size), _) | (_, Ok(size)) => json!(size),
            _ if size == "?" => Json::Null,
            _ => json!(size),
        })
        .collect();
    let entries = [
        ("name", json!(value.name)),
        ("element", json!(slot.prim.name())),
        ("rank", json!(slot.dims.len())),
        ("shape", json!(shape)),
        ("c_name", json!(slot.c_name)),
        ("c_type", json!(c_type)),
    ];
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn result(value: &Flat<'_>, wanted: &str, names: &mut Names, options: &Options) -> (Slot, Json) {
    let slot = slot(value, names.fresh(&c_name(wanted)));
    let c_type = match slot.dims.len() {
        0 => interface_type(slot.prim).to_owned(),
        rank => format!("{}_{}_{rank}d", options.prefix, slot.prim.name()),
    };
    let json = Json::Object(slot_json(value, &slot, c_type));
    (slot, json)
}

fn sizes_json(sizes: &[(String, Vec<String>)]) -> Json {
    Json::Object(sizes.iter().map(|(name, places)| (name.clone(), json!(places))).collect())
}

/// What must hold of the sizes of arguments, for the header.
fn agreements(sizes: &[(String, Vec<String>)]) -> Vec<String> {
    let agreeing = sizes.iter().filter(|(_, places)| places.len() > 1);
    agreeing
        .map(|(name, places)| {
            let others: Vec<&str> = places.iter().filter(|place| *place != name).map(String::as_str).collect();
            format!("{name} = {}", others.join(" = "))
        })
        .collect()
}

fn describe_entry(function: &Function, number: usize, options: &Options) -> Described {
    let flats = flat(&function.core_entry().results, &function.result_names());
    let single = flats.len() == 1;
    let results = flats.iter().map(|value| (value, if single { String::from("out") } else { format!("out_{}", value.name) }));
    let c_name = format!("{}_entry_{}", options.prefix, plain(function.name()));
    describe(function, number, results.collect(), c_name, None, options)
}

fn describe_gradient(function: &Function, wrt: &[usize], by: &[String], number: usize, options: &Options) -> Result<Described> {
    let entry = function.core_entry();
    let params = flat(&entry.params, &function.argument_names());
    let values = flat(&entry.results, &[String::from("value")]);
    let parts = wrt.iter().filter_map(|at| params.get(*at));
    let gradient = parts.map(|value| (value, format!("out_gradient_{}", value.name)));
    let results = values.iter().map(|value| (value, String::from("out_value"))).chain(gradient);
    let suffix = if by.is_empty() { String::new() } else { format!("_by_{}", plain(&by.join("_"))) };
    let c_name = format!("{}_gradient_{}{suffix}", options.prefix, plain(function.name()));
    let names = function.wrt_names()?;
    Ok(describe(function, number, results.collect(), c_name, Some(names), options))
}

/// A function of the library: results with the names they want, and by what it is differentiated, if it is a gradient.
fn describe(
    function: &Function,
    number: usize,
    wanted: Vec<(&Flat, String)>,
    c_name: String,
    by: Option<Vec<String>>,
    options: &Options,
) -> Described {
    let mut signature = signature(function, options);
    let (mut results, mut results_json) = (Vec::new(), Vec::new());
    for (value, wanted) in wanted {
        let (slot, json) = result(value, &wanted, &mut signature.names, options);
        results.push(slot);
        results_json.push(json);
    }
    let mut description = vec![function.entry_point().to_string()];
    description.extend(by.iter().map(|names| format!("Its value, and its gradient by {}.", names.join(", "))));
    description.extend(agreements(&signature.sizes));
    let mut json = json!({
        "name": function.name(),
        "kind": if by.is_some() { "gradient" } else { "function" },
        "type": function.entry_point().to_string(),
        "c_name": c_name,
        "parameters": signature.params_json,
        "results": results_json,
        "sizes": sizes_json(&signature.sizes),
    });
    if let Some(names) = by {
        json["by"] = json!(names);
    }
    let exported =
        ExportedFunction { number, c_name, description, name: function.name().to_owned(), params: signature.params, results };
    Described { exported, json }
}

/// The name as a part of a C name, where no word of C is in the way.
fn plain(name: &str) -> String {
    c_name(&format!("x_{name}")).split_off(2)
}
