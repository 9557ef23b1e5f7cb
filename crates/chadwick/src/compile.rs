//! From source text to Core: the front half of the pipeline, as a list of stages.

pub use chadwick_ad::{Cotangents, Definition, Elements, ReverseMode, Rung, linear_maps};

use chadwick_core as core;
use chadwick_source::{Diagnostic, FileId, SourceMap, Span};
use chadwick_syntax::ast::{self, DeclarationKind, ModuleExpKind};
use chadwick_types::{Sources, tree};
use rustc_hash::FxHashMap;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Where imported files come from.
pub trait Loader {
    /// The text of a file, or why it cannot be had.
    fn load(&self, path: &Path) -> Result<String, String>;
}

/// Reads imports from the file system.
pub struct FileLoader;

impl Loader for FileLoader {
    fn load(&self, path: &Path) -> Result<String, String> {
        // A pipe or a device has no end that could be waited for.
        if !std::fs::metadata(path).map_err(|error| error.to_string())?.is_file() {
            return Err(String::from("a program is read from a file, and this is none"));
        }
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map_err(|_| String::from("the file is not UTF-8 text"))
    }
}

/// A program after the front end, with everything that was said about it.
pub struct Checked {
    pub map: SourceMap,
    pub tree: tree::Program,
    pub diagnostics: Vec<Diagnostic>,
}

impl Checked {
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

const PRELUDE: &[(&str, &str)] = &[
    ("<prelude/intrinsics.fut>", include_str!("../prelude/intrinsics.fut")),
    ("<prelude/arrays.fut>", include_str!("../prelude/arrays.fut")),
    ("<prelude/numbers.fut>", include_str!("../prelude/numbers.fut")),
    ("<prelude/sparse.fut>", include_str!("../prelude/sparse.fut")),
];

/// Library modules that ship with the compiler, by the end of their path.
const LIBRARY: &[(&str, &str)] = &[
    ("diku-dk/autodiff/onehot", include_str!("../library/onehot.fut")),
    ("athas/vector/vspace", include_str!("../library/vspace.fut")),
    ("diku-dk/linalg/linalg", include_str!("../library/linalg.fut")),
];

/// Parses and checks a program. Imports are relative to `path`.
pub fn check(path: &Path, text: &str, loader: &dyn Loader) -> Checked {
    let mut files = Files {
        map: SourceMap::default(),
        sources: Sources::default(),
        diagnostics: Vec::new(),
        known: FxHashMap::default(),
        loader,
    };
    for (name, text) in PRELUDE {
        let id = files.map.add(*name, *text);
        files.parse(id, text);
        files.sources.prelude.push(id);
    }
    let root = files.map.add(path.display().to_string(), text);
    files.known.insert(normalise(path), root);
    files.sources.root = root;
    files.parse(root, text);
    files.resolve_imports(root, path);
    let Files { map, sources, mut diagnostics, .. } = files;
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Checked { map, tree: tree::Program::default(), diagnostics };
    }
    let checked = chadwick_types::check(&sources, &map);
    diagnostics.extend(checked.diagnostics);
    Checked { map, tree: checked.program, diagnostics }
}

/// Lowers a checked program to verified Core.
pub fn lower(checked: &mut Checked) -> Option<core::Program> {
    if checked.has_errors() {
        return None;
    }
    match chadwick_lower::lower(&checked.tree) {
        Ok(program) => {
            checked.diagnostics.extend(chadwick_ad::check_derivatives(&program));
            (!checked.has_errors()).then_some(program)
        }
        Err(diagnostics) => {
            checked.diagnostics.extend(diagnostics);
            None
        }
    }
}

/// What differentiates a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// What suits the program and the back end.
    #[default]
    Auto,
    /// The interpreter, by overloading, as the program runs.
    Builtin,
    /// Derivatives become Core before the program runs.
    ChadFast,
    /// The same, with reverse mode as the papers on CHAD define it.
    Chad(Definition),
    /// The same with the right complexity, unoptimised.
    ChadEfficient(Cotangents),
    /// The same, with reverse mode by dual numbers.
    Dual(Rung),
    /// The same, with reverse mode by dual arrays.
    DualArrays,
    /// The same, with reverse mode by symbolic linear maps.
    LinearMaps,
}

impl Engine {
    pub fn from_name(name: &str) -> Option<Engine> {
        match name {
            "auto" => Some(Engine::Auto),
            "dual" => Some(Engine::Dual(Rung::Tape)),
            "delta" => Some(Engine::Dual(Rung::Delta)),
            "parallel" => Some(Engine::Dual(Rung::Parallel)),
            name => Engine::all().into_iter().find(|engine| engine.name() == name),
        }
    }

    /// All that there are to choose from.
    pub fn all() -> Vec<Engine> {
        let chad = [Definition::Plain, Definition::Simplified].map(Engine::Chad);
        let efficient = [Cotangents::InMap, Cotangents::InArray, Cotangents::InTasks].map(Engine::ChadEfficient);
        let all = [Engine::Builtin].into_iter().chain(chad).chain(efficient).chain([Engine::ChadFast]);
        all.chain(Rung::ALL.map(Engine::Dual)).chain([Engine::DualArrays, Engine::LinearMaps]).collect()
    }

    pub fn name(self) -> String {
        match self {
            Engine::Auto => String::from("auto"),
            Engine::Builtin => String::from("builtin"),
            Engine::ChadFast => String::from("chad-fast"),
            Engine::Chad(Definition::Plain) => String::from("chad"),
            Engine::Chad(Definition::Simplified) => String::from("chad:simplified"),
            Engine::Chad(Definition::Dependencies) => String::from("chad:dependencies"),
            Engine::Chad(Definition::Provenance) => String::from("chad:provenance"),
            Engine::Chad(Definition::Over(Elements::Truths)) => String::from("chad:truths"),
            Engine::Chad(Definition::Over(Elements::Lineage)) => String::from("chad:lineage"),
            Engine::Chad(Definition::Over(Elements::Costs)) => String::from("chad:costs"),
            Engine::ChadEfficient(Cotangents::InArray) => String::from("chad-efficient"),
            Engine::ChadEfficient(Cotangents::InMap) => String::from("chad-efficient:map"),
            Engine::ChadEfficient(Cotangents::InTasks) => String::from("chad-efficient:parallel"),
            Engine::Dual(rung) => format!("dual:{}", rung.name()),
            Engine::DualArrays => String::from("dual-arrays"),
            Engine::LinearMaps => String::from("linear-maps"),
        }
    }

    /// The names that [`Engine::from_name`] knows, in words.
    pub fn names() -> String {
        let names: Vec<String> = Engine::all().into_iter().map(Engine::name).collect();
        format!("auto, {}; dual is dual:tape, delta is dual:delta, parallel is dual:parallel", names.join(", "))
    }

    /// Whether native code can be made of what it makes.
    pub fn has_native_code(self) -> bool {
        matches!(
            self,
            Engine::ChadFast
                | Engine::ChadEfficient(Cotangents::InTasks)
                | Engine::Dual(Rung::Tape | Rung::Parallel)
                | Engine::DualArrays
                | Engine::LinearMaps
        )
    }

    /// Who does reverse mode where derivatives become Core. Native code always has it so.
    pub fn reverse_mode(self) -> ReverseMode {
        match self {
            Engine::Auto | Engine::Builtin | Engine::ChadFast => ReverseMode::ChadFast,
            Engine::Chad(definition) => ReverseMode::ChadDefinition(definition),
            Engine::ChadEfficient(cotangents) => ReverseMode::ChadEfficient(cotangents),
            Engine::Dual(rung) => ReverseMode::Dual(rung),
            Engine::DualArrays => ReverseMode::DualArrays,
            Engine::LinearMaps => ReverseMode::LinearMaps,
        }
    }
}

/// How far a program is taken by [`advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// As it comes from the front end.
    Lower,
    /// Functions are data.
    FirstOrder,
    /// Optimised, derivative operators still standing.
    Prepare,
    /// Derivative operators are code.
    Derivatives,
    /// Optimised again.
    Optimise,
}

impl Stage {
    pub const ALL: [Stage; 5] = [Stage::Lower, Stage::FirstOrder, Stage::Prepare, Stage::Derivatives, Stage::Optimise];

    pub fn name(self) -> &'static str {
        match self {
            Stage::Lower => "lower",
            Stage::FirstOrder => "first-order",
            Stage::Prepare => "prepare",
            Stage::Derivatives => "derivatives",
            Stage::Optimise => "optimise",
        }
    }

    pub fn from_name(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|stage| stage.name() == name)
    }
}

/// Replaces derivative operators by what the engine makes of them.
pub fn differentiate(program: &mut core::Program, engine: Engine) -> Result<(), Vec<Diagnostic>> {
    match engine {
        Engine::Auto | Engine::Builtin => Ok(()),
        engine => advance(program, engine.reverse_mode(), Stage::Optimise),
    }
}

/// Replaces derivative operators by fast CHAD where it can; the others are left to the interpreter, and the report says why.
pub fn differentiate_where_possible(program: &mut core::Program) -> Result<chadwick_ad::Report, Vec<Diagnostic>> {
    advance_where_possible(program, Stage::Optimise)
}

/// The same up to a stage.
pub fn advance_where_possible(program: &mut core::Program, stage: Stage) -> Result<chadwick_ad::Report, Vec<Diagnostic>> {
    advance_by(program, ReverseMode::ChadFast, stage, true, &mut |_, _| {})
}

/// Takes a lowered program to a later stage.
pub fn advance(program: &mut core::Program, mode: ReverseMode, stage: Stage) -> Result<(), Vec<Diagnostic>> {
    advance_with_report(program, mode, stage).map(|_| ())
}

/// The same, and what reverse mode decided on the way.
pub fn advance_with_report(
    program: &mut core::Program,
    mode: ReverseMode,
    stage: Stage,
) -> Result<chadwick_ad::Report, Vec<Diagnostic>> {
    advance_observed(program, mode, stage, &mut |_, _| {})
}

/// The same; `observe` hears the name of every pass, and how long it took.
pub fn advance_observed(
    program: &mut core::Program,
    mode: ReverseMode,
    stage: Stage,
    observe: &mut dyn FnMut(&str, Duration),
) -> Result<chadwick_ad::Report, Vec<Diagnostic>> {
    advance_by(program, mode, stage, false, observe)
}

fn advance_by(
    program: &mut core::Program,
    mode: ReverseMode,
    stage: Stage,
    leaves_to_interpreter: bool,
    observe: &mut dyn FnMut(&str, Duration),
) -> Result<chadwick_ad::Report, Vec<Diagnostic>> {
    let mut report = chadwick_ad::Report::default();
    let keeps_functions = mode.keeps_functions(program);
    if stage >= Stage::FirstOrder && !keeps_functions {
        let started = Instant::now();
        chadwick_opt::defunctionalise(program);
        observe("defunctionalise", started.elapsed());
        verified(program, "defunctionalise")?;
    }
    if stage >= Stage::Prepare {
        // Most passes take functions that are data.
        run(program, if keeps_functions { &[DEAD] } else { chadwick_opt::PREPARE }, observe)?;
    }
    if stage >= Stage::Derivatives {
        let started = Instant::now();
        report = match leaves_to_interpreter {
            true => chadwick_ad::expand_where_possible(program)?,
            false => chadwick_ad::expand_with_report(program, mode)?,
        };
        observe("derivatives", started.elapsed());
        verified(program, "derivatives")?;
        // Where reverse mode makes functions, a derivative around another one waits until they are data, and is prepared again.
        while !leaves_to_interpreter && chadwick_ad::has_derivatives(program) {
            chadwick_opt::defunctionalise(program);
            verified(program, "defunctionalise")?;
            run(program, chadwick_opt::PREPARE, observe)?;
            chadwick_ad::expand_with_report(program, mode)?;
            verified(program, "derivatives")?;
        }
    }
    if stage >= Stage::Optimise {
        let is_simplified = mode.simplify(program);
        verified(program, "simplify functions")?;
        run(program, if is_simplified { &[DEAD] } else { &[] }, observe)?;
    }
    if stage >= Stage::Optimise && mode.ends_without_functions() {
        chadwick_opt::defunctionalise(program);
        verified(program, "defunctionalise")?;
        run(program, &[DEAD], observe)?;
    }
    if stage >= Stage::Optimise && mode.is_for_speed() {
        run(program, chadwick_opt::FINISH, observe)?;
    }
    Ok(report)
}

const DEAD: chadwick_opt::Pass = chadwick_opt::Pass { name: "dead", run: chadwick_opt::remove_dead };

fn run(
    program: &mut core::Program,
    passes: &[chadwick_opt::Pass],
    observe: &mut dyn FnMut(&str, Duration),
) -> Result<(), Vec<Diagnostic>> {
    for pass in passes {
        let started = Instant::now();
        (pass.run)(program);
        observe(pass.name, started.elapsed());
        verified(program, pass.name)?;
    }
    Ok(())
}

/// In debug builds, says which pass broke the rules of Core.
fn verified(program: &core::Program, pass: &str) -> Result<(), Vec<Diagnostic>> {
    if !cfg!(debug_assertions) {
        return Ok(());
    }
    match core::verify::verify(program).into_iter().next() {
        None => Ok(()),
        Some(error) => {
            let message = format!("the pass `{pass}` made an invalid program: {error}");
            Err(vec![Diagnostic::error("E0499", error.span, message).hint("please report this program")])
        }
    }
}

struct Files<'l> {
    map: SourceMap,
    sources: Sources,
    diagnostics: Vec<Diagnostic>,
    known: FxHashMap<PathBuf, FileId>,
    loader: &'l dyn Loader,
}

impl Files<'_> {
    fn parse(&mut self, id: FileId, text: &str) {
        let parsed = chadwick_syntax::parse_program(id, text);
        self.diagnostics.extend(parsed.diagnostics);
        self.sources.files.insert(id, Rc::new(parsed.tree));
    }

    /// Loads what a file imports, and what that imports, without recursion.
    fn resolve_imports(&mut self, root: FileId, path: &Path) {
        let mut waiting = vec![(root, path.to_path_buf())];
        while let Some((file, path)) = waiting.pop() {
            let Some(program) = self.sources.files.get(&file).cloned() else { continue };
            let mut imports = Vec::new();
            collect_imports(&program.declarations, &mut imports);
            for (import, span) in imports {
                let directory = path.parent().unwrap_or(Path::new(""));
                let target = directory.join(format!("{import}.fut"));
                let key = normalise(&target);
                if let Some(known) = self.known.get(&key) {
                    self.sources.imports.insert((file, import), *known);
                    continue;
                }
                let text = match self.loader.load(&target) {
                    Ok(text) => text,
                    Err(problem) => match LIBRARY.iter().find(|(name, _)| import.ends_with(name)) {
                        Some((_, text)) => (*text).to_owned(),
                        None => {
                            let message = format!("cannot import \"{import}\": {problem}");
                            let hint = "the path is relative to this file, without the ending `.fut`";
                            self.diagnostics.push(Diagnostic::error("E0294", span, message).hint(hint));
                            continue;
                        }
                    },
                };
                let id = self.map.add(target.display().to_string(), text.clone());
                self.parse(id, &text);
                self.known.insert(key, id);
                self.sources.imports.insert((file, import), id);
                waiting.push((id, target));
            }
        }
    }
}

/// The path without `.` and `..` where that is possible, so that one file has one name.
fn normalise(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(result.components().next_back(), Some(Component::Normal(_))) => {
                result.pop();
            }
            other => result.push(other),
        }
    }
    result
}

fn collect_imports(declarations: &[ast::Declaration], imports: &mut Vec<(String, Span)>) {
    for declaration in declarations {
        match &declaration.kind {
            DeclarationKind::Import(path, span) => imports.push((path.clone(), *span)),
            DeclarationKind::Open(exp) => imports_of_module(exp, imports),
            DeclarationKind::Module(binding) => imports_of_module(&binding.body, imports),
            DeclarationKind::Local(inner) => collect_imports(std::slice::from_ref(inner), imports),
            _ => {}
        }
    }
}

fn imports_of_module(exp: &ast::ModuleExp, imports: &mut Vec<(String, Span)>) {
    match &exp.kind {
        ModuleExpKind::Import(path) => imports.push((path.clone(), exp.span)),
        ModuleExpKind::Ascribe(inner, _) => imports_of_module(inner, imports),
        ModuleExpKind::Lambda { body, .. } => imports_of_module(body, imports),
        ModuleExpKind::Apply(function, arg) => {
            imports_of_module(function, imports);
            imports_of_module(arg, imports);
        }
        ModuleExpKind::Declarations(declarations) => collect_imports(declarations, imports),
        ModuleExpKind::Name(_) | ModuleExpKind::Error => {}
    }
}
