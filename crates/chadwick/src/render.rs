//! Diagnostics and run-time errors as text for people, with the source lines they are about.
//!
//! ```text
//! error[E0201]: unknown name `y`
//!   --> loss.fut:2:7
//!    |
//!  2 |   x + y
//!    |       ^ not defined here
//!    = hint: did you mean `x`?
//! ```

use chadwick_interp::{ErrorKind, RuntimeError};
use chadwick_source::{Diagnostic, Label, Severity, SourceFile, SourceMap, Span};
use std::fmt::Write;

/// How to write for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// With the colour codes of terminals.
    pub colours: bool,
}

/// Wider source lines are shown in part.
const WIDTH: usize = 120;

/// How many calls of a trace are shown.
const CALLS_SHOWN: usize = 8;

const RED: &str = "1;31";
const YELLOW: &str = "1;33";
const BLUE: &str = "1;34";
const GREEN: &str = "1;32";
const BOLD: &str = "1";

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        match self.colours {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }
}

/// Nobody reads more errors than this at once.
const SHOWN: usize = 50;

/// The diagnostics, one behind the other with an empty line between, and how many more there are.
pub fn diagnostics(diagnostics: &[Diagnostic], map: &SourceMap, style: Style) -> String {
    let mut texts: Vec<String> = diagnostics.iter().take(SHOWN).map(|one| diagnostic(one, map, style)).collect();
    if diagnostics.len() > SHOWN {
        texts.push(format!("and {} more\n", diagnostics.len() - SHOWN));
    }
    texts.join("\n")
}

/// One diagnostic; ends with a newline.
pub fn diagnostic(diagnostic: &Diagnostic, map: &SourceMap, style: Style) -> String {
    let (word, colour) = match diagnostic.severity {
        Severity::Error => ("error", RED),
        Severity::Warning => ("warning", YELLOW),
    };
    let mut out = String::new();
    let head = style.paint(colour, &format!("{word}[{}]", diagnostic.code));
    let _ = writeln!(out, "{head}{}", style.paint(BOLD, &format!(": {}", diagnostic.message)));
    snippets(&mut out, &diagnostic.primary, &diagnostic.secondary, map, colour, style);
    if let Some(hint) = &diagnostic.hint {
        let _ = writeln!(out, "   {} {} {hint}", style.paint(BLUE, "="), style.paint(GREEN, "hint:"));
    }
    out
}

/// A run-time error with its place and the calls that led there; ends with a newline.
pub fn runtime_error(error: &RuntimeError, map: &SourceMap, style: Style) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}{}", style.paint(RED, "error"), style.paint(BOLD, &format!(": {}", error.message)));
    out.push_str(&snippet(user_place(error, map), map, style));
    let calls = error.trace.iter().map(|call| open_call(&call.function, call.span, map));
    let mut lines: Vec<(String, usize)> = Vec::new();
    for line in calls {
        match lines.last_mut() {
            Some((last, count)) if *last == line => *count += 1,
            _ => lines.push((line, 1)),
        }
    }
    for (line, count) in lines.iter().take(CALLS_SHOWN) {
        let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
        let _ = writeln!(out, "   {} {line}{times}", style.paint(BLUE, "="));
    }
    if lines.len() > CALLS_SHOWN {
        let more: usize = lines[CALLS_SHOWN..].iter().map(|(_, count)| count).sum();
        let _ = writeln!(out, "   {} and {more} more calls", style.paint(BLUE, "="));
    }
    if error.trace.len() == RuntimeError::LONGEST_TRACE {
        let _ = writeln!(out, "   {} and the calls around these", style.paint(BLUE, "="));
        if matches!(error.kind, ErrorKind::MemoryLimit | ErrorKind::DepthLimit) {
            let hint = "the recursion is deep: does it come to an end, whatever the arguments are?";
            let _ = writeln!(out, "   {} {} {hint}", style.paint(BLUE, "="), style.paint(GREEN, "hint:"));
        }
    }
    out
}

/// The lines that show where a run-time error happened; nothing where that is nowhere.
pub(crate) fn snippet(place: Span, map: &SourceMap, style: Style) -> String {
    let mut out = String::new();
    if place != Span::default() {
        let label = Label { span: place, text: String::new() };
        snippets(&mut out, &label, &[], map, RED, style);
    }
    out
}

/// A call that was open when an error happened.
pub(crate) fn open_call(function: &str, place: Span, map: &SourceMap) -> String {
    match place == Span::default() {
        true => format!("in `{function}`"),
        false => format!("in `{function}` at {}", map.position(place)),
    }
}

/// Whether a place is in a program rather than nowhere or in the prelude.
pub(crate) fn is_in_program(place: Span, map: &SourceMap) -> bool {
    place != Span::default() && map.file(place.file).is_some_and(|file| !file.name.starts_with("<prelude"))
}

/// The innermost place that is not inside the prelude, if there is one.
pub fn user_place(error: &RuntimeError, map: &SourceMap) -> Span {
    let places = std::iter::once(error.span).chain(error.trace.iter().map(|call| call.span));
    places.into_iter().find(|span| is_in_program(*span, map)).unwrap_or(error.span)
}

fn snippets(out: &mut String, primary: &Label, secondary: &[Label], map: &SourceMap, colour: &str, style: Style) {
    let numbers = std::iter::once(primary)
        .chain(secondary)
        .filter_map(|label| map.file(label.span.file).map(|file| file.line_column(label.span.start).line));
    let gutter = numbers.max().unwrap_or(1).to_string().len().max(2);
    let mut labels: Vec<(&Label, char, &str)> = vec![(primary, '^', colour)];
    labels.extend(secondary.iter().map(|label| (label, '-', BLUE)));
    // Labels of one file in order of their lines; the primary file first.
    labels.sort_by_key(|(label, _, _)| (label.span.file != primary.span.file, label.span.file, label.span.start));
    let mut current_file = None;
    let mut last_line = None;
    for (label, mark, colour) in labels {
        let Some(file) = map.file(label.span.file) else { continue };
        let place = file.line_column(label.span.start);
        if current_file != Some(label.span.file) {
            let header = if label.span.file == primary.span.file { primary.span } else { label.span };
            let arrow = if current_file.is_none() { "-->" } else { ":::" };
            let _ = writeln!(out, "{:gutter$}{} {}", "", style.paint(BLUE, arrow), map.position(header));
            let _ = writeln!(out, " {:gutter$}{}", "", style.paint(BLUE, "|"));
            (current_file, last_line) = (Some(label.span.file), None);
        }
        let line = Line::of(file, label.span);
        // Of a long line, another label may need another part.
        let shown = (place.line, line.text.clone());
        if last_line.as_ref() != Some(&shown) {
            if last_line.is_some_and(|(last, _)| place.line > last + 1) {
                let _ = writeln!(out, "{}", style.paint(BLUE, "..."));
            }
            let number = style.paint(BLUE, &format!("{:>gutter$} |", place.line));
            let _ = writeln!(out, "{number} {}", line.text);
            last_line = Some(shown);
        }
        let marks = mark.to_string().repeat(line.width.max(1));
        let text = if label.text.is_empty() { String::new() } else { format!(" {}", label.text) };
        let underline = style.paint(colour, &format!("{marks}{text}"));
        let _ = writeln!(out, "{:gutter$} {} {:indent$}{underline}", "", style.paint(BLUE, "|"), "", indent = line.start);
    }
}

/// The part of a source line that is shown, and the columns to mark in it.
struct Line {
    text: String,
    start: usize,
    width: usize,
}

impl Line {
    fn of(file: &SourceFile, span: Span) -> Line {
        let text = file.text.as_str();
        let mut start = (span.start as usize).min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let mut end = (span.end as usize).clamp(start, line_end);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        // Far to the right, the shown part starts a little before the span.
        let shown_from = match text[line_start..start].chars().count() {
            before if before > WIDTH * 2 / 3 => {
                text[line_start..start].char_indices().rev().take(WIDTH / 3).last().map_or(line_start, |(at, _)| line_start + at)
            }
            _ => line_start,
        };
        let mut shown = if shown_from > line_start { String::from("…") } else { String::new() };
        shown.extend(text[shown_from..line_end].chars().take(WIDTH).map(visible));
        if text[shown_from..line_end].chars().nth(WIDTH).is_some() {
            shown.push('…');
        }
        let indent = text[shown_from..start].chars().count() + usize::from(shown_from > line_start);
        let width = text[start..end].chars().take(WIDTH).count().min((WIDTH + 1).saturating_sub(indent).max(1));
        Line { text: shown.trim_end().to_owned(), start: indent, width }
    }
}

/// Tabs and control characters take one column.
fn visible(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

/// An error that has no place in a source file; without a newline.
pub fn plain_error(message: &str, style: Style) -> String {
    format!("{}{}", style.paint(RED, "error"), style.paint(BOLD, &format!(": {message}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> SourceMap {
        let mut map = SourceMap::default();
        map.add("a.fut", text);
        map
    }

    fn span(start: usize, end: usize) -> Span {
        Span::new(Default::default(), start, end)
    }

    #[test]
    fn labels_stand_under_what_they_are_about() {
        let map = map("def f x = x\n\n\ndef y = f 1 2\n");
        let error = Diagnostic::error("E0001", span(22, 23), "too many arguments")
            .here("not expected")
            .also(span(4, 5), "defined here")
            .hint("drop it");
        let expected = "\
error[E0001]: too many arguments
  --> a.fut:4:9
   |
 1 | def f x = x
   |     - defined here
...
 4 | def y = f 1 2
   |         ^ not expected
   = hint: drop it
";
        assert_eq!(diagnostic(&error, &map, Style::default()), expected);
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let map = map(&format!("{}here{}", "x".repeat(100_000), "y".repeat(100_000)));
        let text = diagnostic(&Diagnostic::warning("W0001", span(100_000, 100_004), "look"), &map, Style::default());
        assert!(text.lines().all(|line| line.chars().count() < 200), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        let shown: Vec<char> = lines[3].chars().collect();
        let at = lines[4].chars().position(|c| c == '^').expect("a mark");
        assert_eq!(shown[at..at + 4].iter().collect::<String>(), "here");
    }

    #[test]
    fn far_apart_in_a_long_line_each_label_has_its_own_part() {
        let map = map(&format!("first{}second", "x".repeat(500)));
        let error = Diagnostic::error("E0001", span(505, 511), "m").also(span(0, 5), "before");
        let text = diagnostic(&error, &map, Style::default());
        let lines: Vec<&str> = text.lines().collect();
        for (line, mark, word) in [(3, '-', "first"), (5, '^', "second")] {
            let at = lines[line + 1].chars().position(|c| c == mark).expect("a mark");
            let shown: String = lines[line].chars().skip(at).take(word.len()).collect();
            assert_eq!(shown, word, "{text}");
        }
    }

    #[test]
    fn spans_that_do_not_fit_are_no_reason_to_panic() {
        let map = map("é\n\nabc");
        for (start, end) in [(0, 0), (1, 1), (0, 1), (1, 100), (100, 200), (5, 2), (4, 4)] {
            let text = diagnostic(&Diagnostic::error("E0001", span(start, end), "m"), &map, Style::default());
            assert!(text.contains("a.fut:"), "{text}");
        }
        let nowhere = Span::new(chadwick_source::FileId(9), 0, 1);
        assert_eq!(diagnostic(&Diagnostic::error("E0001", nowhere, "m"), &map, Style::default()), "error[E0001]: m\n");
    }

    #[test]
    fn colours_only_where_they_are_wanted() {
        let map = map("abc");
        let error = Diagnostic::error("E0001", span(0, 1), "m").hint("h");
        assert!(diagnostic(&error, &map, Style { colours: true }).contains("\u{1b}[1;31m"));
        assert!(!diagnostic(&error, &map, Style::default()).contains('\u{1b}'));
    }
}
