//! Where text came from: files, byte spans, line and column.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// Index of a file in a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u32);

/// A range of bytes in one file. What was copied from there to the place of a call knows by which one it came: a number that means something to the
/// program, none if zero. The range is the same one, so it does not count when spans are compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
    pub call: u32,
}

impl Span {
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        let clamp = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Span { file, start: clamp(start), end: clamp(end), call: 0 }
    }

    fn range(self) -> (FileId, u32, u32) {
        (self.file, self.start, self.end)
    }

    /// The smallest span that covers both; spans of different files keep the first.
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { start: self.start.min(other.start), end: self.end.max(other.end), ..self }
    }

    /// The empty span just behind this one.
    pub fn after(self) -> Span {
        Span { start: self.end, ..self }
    }
}

impl PartialEq for Span {
    fn eq(&self, other: &Span) -> bool {
        self.range() == other.range()
    }
}

impl Eq for Span {}

impl Hash for Span {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.range().hash(state);
    }
}

impl PartialOrd for Span {
    fn partial_cmp(&self, other: &Span) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Span {
    fn cmp(&self, other: &Span) -> Ordering {
        self.range().cmp(&other.range())
    }
}

/// One file of source text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The name shown to people: a path, or something like `<eval>`.
    pub name: String,
    pub text: String,
    line_starts: Vec<u32>,
}

/// A one-based line and column (in characters).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineColumn {
    pub line: usize,
    pub column: usize,
}

impl SourceFile {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0).chain(newlines.map(|(at, _)| at as u32 + 1)).collect();
        SourceFile { name: name.into(), text, line_starts }
    }

    pub fn line_column(&self, offset: u32) -> LineColumn {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        let start = self.line_starts[line - 1] as usize;
        let end = (offset as usize).min(self.text.len());
        let column = self.text.get(start..end).map_or(end.saturating_sub(start), |before| before.chars().count());
        LineColumn { line, column: column + 1 }
    }
}

/// All files of one compilation.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        self.files.push(SourceFile::new(name, text));
        FileId(self.files.len() as u32 - 1)
    }

    pub fn file(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// The text under a span, or nothing where the span does not fit its file.
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file).and_then(|file| file.text.get(span.start as usize..span.end as usize)).unwrap_or("")
    }

    /// `name:line:column` of the start of a span.
    pub fn position(&self, span: Span) -> String {
        let Some(file) = self.file(span.file) else { return String::from("<unknown>") };
        let LineColumn { line, column } = file.line_column(span.start);
        format!("{}:{line}:{column}", file.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        let file = SourceFile::new("a.fut", "ab\nçd\n");
        assert_eq!(file.line_column(0), LineColumn { line: 1, column: 1 });
        assert_eq!(file.line_column(3), LineColumn { line: 2, column: 1 });
        assert_eq!(file.line_column(5), LineColumn { line: 2, column: 2 });
        assert_eq!(file.line_column(900), LineColumn { line: 3, column: 1 });
    }
}
