//! `chadwick build`: a program as a C library.

use crate::commands::{finish, load, warn_of_derivative};
use crate::options::{BuildKind, BuildOptions, FloatMode};
use crate::{Exit, output};
use chadwick::export::{self, GradientOf, LibraryKind, Processor, Recipe};
use chadwick::{Error, NativeOptions, Result};
use serde_json::json;
use std::path::{Path, PathBuf};

pub fn command(options: &BuildOptions) -> Exit {
    finish(build(options), options.json)
}

fn build(options: &BuildOptions) -> Result<()> {
    let (directory, name) = target(options)?;
    let program = load(&options.file)?;
    let kind = match options.kind {
        BuildKind::Static => LibraryKind::Static,
        BuildKind::C | BuildKind::Shared => LibraryKind::Shared,
    };
    let native = NativeOptions { strict: options.fp == FloatMode::Strict, ..NativeOptions::default() };
    let processor = if options.portable { Processor::Any } else { Processor::Native };
    let recipe = Recipe { kind, options: native, processor };
    let origin = options.file.file_name().map_or_else(|| options.file.display().to_string(), |name| name.display().to_string());
    let library = export::library(
        &program,
        &export::Options {
            name: name.clone(),
            prefix: options.prefix.clone(),
            origin,
            entries: options.entries.clone(),
            gradients: options.gradients.iter().map(|text| gradient(text)).collect(),
            recipe,
        },
    )?;
    for GradientOf { entry, by } in options.gradients.iter().map(|text| gradient(text)) {
        let function = program.function(&entry)?;
        warn_of_derivative(&if by.is_empty() { function } else { function.wrt(&by)? })?;
    }
    for problem in &library.left_out {
        output::error_line(&format!("warning: an entry point is left out: {problem}"));
    }
    let file = |ending: &str| directory.join(format!("{name}{ending}"));
    let (source, header, manifest) = (file(".c"), file(".h"), file(".json"));
    let mut description = library.manifest;
    let binary = (options.kind != BuildKind::C).then(|| export::library_file(&name, kind));
    description["files"] = json!({
        "source": format!("{name}.c"),
        "header": format!("{name}.h"),
        "library": binary,
    });
    if !directory.as_os_str().is_empty() {
        std::fs::create_dir_all(&directory).map_err(|error| problem(&directory, &error))?;
    }
    write(&source, &library.source)?;
    write(&header, &library.header)?;
    write(&manifest, &format!("{description:#}\n"))?;
    let mut written = vec![source.clone(), header, manifest];
    if let Some(binary) = binary {
        let binary = directory.join(binary);
        export::compile_library(&source, &binary, recipe)?;
        written.push(binary);
    }
    let written: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
    match options.json {
        true => output::line(&json!({ "written": written }).to_string()),
        false => written.iter().for_each(|path| output::line(path)),
    }
    Ok(())
}

/// The directory and the name of what is written.
fn target(options: &BuildOptions) -> Result<(PathBuf, String)> {
    let of_program = options.file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let (directory, name) = match &options.output {
        None => (PathBuf::new(), of_program),
        Some(path) if path.is_dir() || path.to_string_lossy().ends_with('/') => (path.clone(), of_program),
        Some(path) => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            (path.parent().unwrap_or(Path::new("")).to_path_buf(), name)
        }
    };
    // The name stands in commands and in an `#include`.
    let fits = |c: char| c.is_alphanumeric() || "_-.+".contains(c);
    match !name.is_empty() && !name.starts_with('-') && name.chars().all(fits) {
        true => Ok((directory, name)),
        false => Err(Error::usage(format!("`{name}` is no name for files; choose one with -o"))),
    }
}

/// `loss`, or `loss:weights,offset`
fn gradient(text: &str) -> GradientOf {
    let (entry, by) = text.split_once(':').unwrap_or((text, ""));
    let by = by.split(',').map(str::trim).filter(|name| !name.is_empty()).map(String::from).collect();
    GradientOf { entry: entry.to_owned(), by }
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| problem(path, &error))
}

fn problem(path: &Path, error: &std::io::Error) -> Error {
    Error::File { path: path.display().to_string(), message: error.to_string() }
}
