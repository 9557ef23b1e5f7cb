//! What test files say in other ways than by values: scripts, and properties.
//!
//! A script is nearly an expression of the language. Two things only scripts have: `$loaddata` and `$loadbytes` read files, and a tuple
//! given to a function of several parameters is spread over them. [`prepare`] makes an expression of the language from a script. It reads
//! no files: their contents are parameters.

use chadwick_source::FileId;
use chadwick_syntax::ast::{Attribute, DeclarationKind, Exp, ExpKind, LetBinding};
use chadwick_syntax::{parse_expression, parse_program, print_expression};

/// A script as an expression of the language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    pub expression: String,
    /// The files that it reads, in order. File number `i` is the variable `data_name(i)`.
    pub files: Vec<ScriptFile>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFile {
    pub path: String,
    /// Whether the bytes themselves are wanted, and not the values that they stand for.
    pub bytes: bool,
}

/// The variable that holds a file's content.
pub fn data_name(number: usize) -> String {
    format!("chadwick_data_{number}")
}

/// Makes an expression of a script. `arity` is how many parameters an entry point has.
pub fn prepare(text: &str, arity: &dyn Fn(&str) -> Option<usize>) -> Result<Script, String> {
    let (text, files) = take_files(text)?;
    let mut parsed = parse_expression(FileId::default(), &text);
    if parsed.has_errors() {
        // The text itself gives the better message.
        return Ok(Script { expression: text, files });
    }
    spread(&mut parsed.tree, arity);
    Ok(Script { expression: print_expression(&parsed.tree), files })
}

/// Replaces `$loaddata "f"` and `$loadbytes "f"` by variables.
fn take_files(text: &str) -> Result<(String, Vec<ScriptFile>), String> {
    let mut out = String::new();
    let mut files = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '"']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('"') {
            let end = string_end(rest).ok_or("a string in the script is not closed")?;
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        let word: String = rest[1..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let bytes = match word.as_str() {
            "loaddata" => false,
            "loadbytes" => true,
            other => return Err(format!("scripts have no function `${other}`; there are `$loaddata` and `$loadbytes`")),
        };
        rest = rest[1 + word.len()..].trim_start();
        let end = string_end(rest).filter(|_| rest.starts_with('"'));
        let end = end.ok_or_else(|| format!("`${word}` is followed by the name of a file in quotes"))?;
        out.push_str(&data_name(files.len()));
        files.push(ScriptFile { path: rest[1..end - 1].to_owned(), bytes });
        rest = &rest[end..];
    }
    out.push_str(rest);
    Ok((out, files))
}

/// Where the string that the text starts with ends.
fn string_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// `f e`, where `f` has several parameters, takes them from the tuple `e`: functions in scripts are always fully applied.
fn spread(exp: &mut Exp, arity: &dyn Fn(&str) -> Option<usize>) {
    match &mut exp.kind {
        ExpKind::Apply(function, args) => {
            args.iter_mut().for_each(|arg| spread(arg, arity));
            let ExpKind::Name(name) = &function.kind else { return spread(function, arity) };
            let count = arity(&name.name.name).unwrap_or(1);
            if name.qualifiers.is_empty() && args.len() == 1 && count > 1 {
                let names: Vec<String> = (0..count).map(|number| format!("chadwick_{number}")).collect();
                let text = format!("(\\({}) -> {} {})", names.join(", "), name.name.name, names.join(" "));
                **function = parse_expression(FileId::default(), &text).tree;
            }
        }
        ExpKind::Paren(inner) | ExpKind::Project(inner, _) | ExpKind::Index(inner, _) | ExpKind::Unary(_, inner) => {
            spread(inner, arity);
        }
        ExpKind::Tuple(parts) | ExpKind::Array(parts) | ExpKind::Constructor(_, parts) => {
            parts.iter_mut().for_each(|part| spread(part, arity));
        }
        ExpKind::Record(fields) => {
            fields.iter_mut().filter_map(|(_, value)| value.as_mut()).for_each(|value| spread(value, arity))
        }
        ExpKind::Let(parts) => {
            if let LetBinding::Pattern { value, .. } = &mut parts.binding {
                spread(value, arity);
            }
            spread(&mut parts.body, arity);
        }
        _ => {}
    }
}

/// What `#[prop(gen(f), shrink(g), size(n))]` says of a property.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Property {
    pub generator: Option<String>,
    pub shrinker: Option<String>,
    pub size: Option<u64>,
}

/// The `#[prop]` attribute of a definition, if it has one.
pub fn property(source: &str, name: &str) -> Option<Property> {
    let program = parse_program(FileId::default(), source).tree;
    let declaration = program.declarations.iter().find(|declaration| match &declaration.kind {
        DeclarationKind::Value(binding) => binding.name.name == name,
        _ => false,
    })?;
    let attribute = declaration.attributes.iter().find(|attribute| attribute.name == "prop")?;
    let argument = |name: &str| -> Option<&Attribute> {
        attribute.arguments.iter().find(|argument| argument.name == name)?.arguments.first()
    };
    let text = |name: &str| argument(name).map(|argument| argument.name.to_string());
    Some(Property { generator: text("gen"), shrinker: text("shrink"), size: text("size").and_then(|size| size.parse().ok()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arity(name: &str) -> Option<usize> {
        match name {
            "pair" => Some(2),
            "f" => Some(1),
            _ => None,
        }
    }

    #[test]
    fn files_become_variables() {
        let script = prepare("f ($loaddata \"a.txt\") (\"$x\", $loadbytes \"b\")", &arity).expect("a script");
        assert_eq!(script.expression, "f (chadwick_data_0) (\"$x\", chadwick_data_1)");
        assert_eq!(script.files[0], ScriptFile { path: String::from("a.txt"), bytes: false });
        assert_eq!(script.files[1], ScriptFile { path: String::from("b"), bytes: true });
        assert!(prepare("$store \"x\"", &arity).is_err_and(|message| message.contains("`$store`")));
        assert!(prepare("$loaddata x", &arity).is_err());
        assert!(prepare("$loaddata \"x", &arity).is_err());
    }

    #[test]
    fn tuples_are_spread_over_parameters() {
        let spread = prepare("let x = pair (f 1) in pair x 2", &arity).expect("a script").expression;
        assert!(spread.contains("(\\(chadwick_0, chadwick_1) -> pair chadwick_0 chadwick_1) (f 1)"), "{spread}");
        assert!(spread.ends_with("pair x 2"), "{spread}");
    }

    #[test]
    fn properties_have_attributes() {
        let source = "#[prop(gen(g), size(20))]\nentry p (x: i32) = x == x\nentry q (x: i32) = true";
        let expected = Property { generator: Some(String::from("g")), shrinker: None, size: Some(20) };
        assert_eq!(property(source, "p"), Some(expected));
        assert_eq!(property(source, "q"), None);
    }
}
