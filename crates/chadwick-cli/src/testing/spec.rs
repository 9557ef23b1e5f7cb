//! The test blocks of a program: what to run on what, and what should come out.
//!
//! ```text
//! block   = ('tags' '{' tag* '}')? ('error:' regex | part*)
//! part    = 'entry:' name+ | case | 'structure' name? '{' … '}' | 'property:' name+ | 'warning:' regex
//! case    = string? tag* input expect?
//! input   = 'input' ('{' value* '}' | '@' file) | 'random' 'input' '{' (type|constant)* '}' | 'script' 'input' ('{' script '}' | '@' file)
//! expect  = 'output' ('{' value* '}' | '@' file) | 'auto' 'output' | 'error:' regex
//! ```
//!
//! A block is a run of lines that start with `--` in column 0, from behind the line `-- ==` on.

use chadwick::values::text::Reader;
use chadwick::values::{Prim, Value, ValueError};
use regex::{Regex, RegexBuilder};

/// All test blocks of one file.
#[derive(Debug, Default)]
pub struct Spec {
    pub tags: Vec<String>,
    /// The program must not compile, for a reason that matches.
    pub compile_error: Option<Pattern>,
    pub warnings: Vec<Pattern>,
    pub cases: Vec<Case>,
    /// How many inputs there are; each is a case for every entry point of its block.
    pub datasets: usize,
    /// Entry points that state properties, with the line of the statement.
    pub properties: Vec<(String, usize)>,
}

/// One entry point on one input.
#[derive(Clone, Debug)]
pub struct Case {
    pub entry: String,
    /// The name of the dataset, or its number among the datasets of the file.
    pub dataset: String,
    pub tags: Vec<String>,
    pub input: Input,
    pub expect: Expect,
    /// Of the input, counting from one.
    pub line: usize,
}

#[derive(Clone, Debug)]
pub enum Input {
    Values(Vec<Value>),
    File(String),
    Random(Vec<RandomItem>),
    /// An expression over the entry points.
    Script(Script),
}

#[derive(Clone, Debug)]
pub enum Script {
    Text(String),
    File(String),
}

#[derive(Clone, Debug)]
pub enum RandomItem {
    Type { shape: Vec<usize>, prim: Prim },
    Constant(Value),
}

#[derive(Clone, Debug)]
pub enum Expect {
    Success,
    Values(Vec<Value>),
    File(String),
    /// What the interpreter says is right.
    Auto,
    Error(Pattern),
}

/// A regular expression of a test file. One that is no regular expression is looked for literally. Whether letters are large or small does
/// not matter: test files are written for several compilers, whose messages differ in that.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    regex: Option<Regex>,
}

impl Pattern {
    pub fn new(text: &str) -> Self {
        let text = text.trim();
        Pattern { text: text.to_owned(), regex: RegexBuilder::new(text).case_insensitive(true).build().ok() }
    }

    pub fn matches(&self, message: &str) -> bool {
        match &self.regex {
            Some(regex) => regex.is_match(message),
            None => message.contains(&self.text),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Reads the test blocks of a program.
pub fn parse(source: &str) -> Result<Spec, ValueError> {
    let (text, blocks) = block_text(source);
    let mut spec = Spec::default();
    for (start, end) in blocks {
        Parser { reader: Reader::new(&text[..end]), text: &text[..end], entries: vec![String::from("main")] }
            .block(start, &mut spec)?;
    }
    Ok(spec)
}

/// The source with everything outside of test blocks blanked out, and where the blocks are. Positions are those of the source.
fn block_text(source: &str) -> (Vec<u8>, Vec<(usize, usize)>) {
    let mut text = source.as_bytes().to_vec();
    let mut blocks = Vec::new();
    let mut position = 0;
    let mut open: Option<usize> = None;
    for line in source.split_inclusive('\n') {
        let end = position + line.len();
        let comment = line.strip_prefix("--");
        match (comment, open) {
            (None, Some(start)) => {
                blocks.push((start, position));
                open = None;
            }
            // A second line of this kind in one run starts another block.
            (Some(content), _) if content.trim() == "==" => {
                blocks.extend(open.map(|start| (start, position)));
                text[position..end - usize::from(line.ends_with('\n'))].fill(b' ');
                open = Some(end);
            }
            (Some(_), Some(_)) => text[position..position + 2].fill(b' '),
            _ => {}
        }
        position = end;
    }
    if let Some(start) = open {
        blocks.push((start, position));
    }
    (text, blocks)
}

struct Parser<'a> {
    reader: Reader<'a>,
    text: &'a [u8],
    entries: Vec<String>,
}

impl<'a> Parser<'a> {
    fn block(&mut self, start: usize, spec: &mut Spec) -> Result<(), ValueError> {
        self.reader.set_position(start);
        let mut dataset: Option<String> = None;
        let mut tags: Vec<String> = Vec::new();
        while let Some(byte) = self.reader.peek() {
            let at = self.reader.position();
            if byte == b'"' {
                dataset = Some(self.quoted()?);
                continue;
            }
            let word = self.word();
            match word {
                "" => return Err(self.reader.error(at, "expected a part of a test block, such as `entry:` or `input`")),
                "tags" => spec.tags.extend(self.braced_words()?),
                "error:" => spec.compile_error = Some(Pattern::new(self.rest_of_line())),
                "warning:" => {
                    let pattern = Pattern::new(self.rest_of_line());
                    spec.warnings.push(pattern);
                }
                "entry:" => {
                    self.entries = self.rest_of_line().split_whitespace().map(str::to_owned).collect();
                    if self.entries.is_empty() {
                        return Err(self.reader.error(at, "`entry:` is followed by the names of entry points"));
                    }
                }
                "property:" => {
                    let line = self.line(at);
                    spec.properties.extend(self.rest_of_line().split_whitespace().map(|name| (name.to_owned(), line)));
                }
                "structure" => {
                    if self.reader.peek() != Some(b'{') {
                        self.word();
                    }
                    self.braced_text()?;
                }
                "input" | "random" | "script" => {
                    let input = self.input(word)?;
                    let expect = self.expect()?;
                    let dataset = dataset.take().unwrap_or_else(|| format!("#{}", spec.datasets));
                    spec.datasets += 1;
                    for entry in &self.entries {
                        spec.cases.push(Case {
                            entry: entry.clone(),
                            dataset: dataset.clone(),
                            tags: tags.clone(),
                            input: input.clone(),
                            expect: expect.clone(),
                            line: self.line(at),
                        });
                    }
                    tags.clear();
                }
                tag if tag.ends_with(':') => return Err(self.reader.error(at, format!("`{tag}` is no part of a test block"))),
                tag => tags.push(tag.to_owned()),
            }
        }
        match tags.first() {
            Some(tag) => Err(self.reader.error(self.reader.position(), format!("`{tag}` is followed by no input"))),
            None => Ok(()),
        }
    }

    fn input(&mut self, word: &str) -> Result<Input, ValueError> {
        let at = self.reader.position();
        if word != "input" {
            self.reader.peek();
            if self.word() != "input" {
                return Err(self.reader.error(at, format!("`{word}` is followed by `input`")));
            }
        }
        let is_file = self.reader.peek() == Some(b'@');
        match word {
            "script" => Ok(Input::Script(match is_file {
                true => Script::File(self.file()),
                false => Script::Text(String::from_utf8_lossy(self.braced_text()?).into_owned()),
            })),
            _ if is_file => Ok(Input::File(self.file())),
            "random" => Ok(Input::Random(self.braced(Self::random_item)?)),
            _ => Ok(Input::Values(self.braced(|parser| parser.reader.value(None))?)),
        }
    }

    fn expect(&mut self) -> Result<Expect, ValueError> {
        self.reader.peek();
        let at = self.reader.position();
        match self.word() {
            "output" if self.reader.peek() == Some(b'@') => Ok(Expect::File(self.file())),
            "output" => Ok(Expect::Values(self.braced(|parser| parser.reader.value(None))?)),
            "auto" => {
                self.reader.peek();
                match self.word() {
                    "output" => Ok(Expect::Auto),
                    _ => Err(self.reader.error(at, "`auto` is followed by `output`")),
                }
            }
            "error:" => Ok(Expect::Error(Pattern::new(self.rest_of_line()))),
            _ => {
                self.reader.set_position(at);
                Ok(Expect::Success)
            }
        }
    }

    fn random_item(&mut self) -> Result<RandomItem, ValueError> {
        let at = self.reader.position();
        if let Ok((shape, prim)) = self.reader.array_type()
            && self.text.get(self.reader.position()) != Some(&b'.')
        {
            return Ok(RandomItem::Type { shape, prim });
        }
        self.reader.set_position(at);
        self.reader.value(None).map(RandomItem::Constant)
    }

    /// `{ item* }`
    fn braced<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T, ValueError>) -> Result<Vec<T>, ValueError> {
        self.open_brace()?;
        let mut items = Vec::new();
        while self.reader.peek() != Some(b'}') {
            items.push(item(self)?);
        }
        self.reader.set_position(self.reader.position() + 1);
        Ok(items)
    }

    fn braced_words(&mut self) -> Result<Vec<String>, ValueError> {
        self.braced(|parser| {
            let at = parser.reader.position();
            match parser.word() {
                "" => Err(parser.reader.error(at, "expected a tag or `}`")),
                word => Ok(word.to_owned()),
            }
        })
    }

    /// The text between braces, which may be nested; strings are skipped whole.
    fn braced_text(&mut self) -> Result<&'a [u8], ValueError> {
        self.open_brace()?;
        let start = self.reader.position();
        let (mut depth, mut in_string, mut at) = (1, false, start);
        while let Some(byte) = self.text.get(at) {
            match byte {
                b'\\' if in_string => at += 1,
                b'"' => in_string = !in_string,
                b'{' if !in_string => depth += 1,
                b'}' if !in_string => depth -= 1,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                self.reader.set_position(at);
                return Ok(&self.text[start..at - 1]);
            }
        }
        Err(self.reader.error(start, "this `{` is not closed"))
    }

    fn open_brace(&mut self) -> Result<(), ValueError> {
        if self.reader.peek() != Some(b'{') {
            return Err(self.reader.error(self.reader.position(), "expected `{`"));
        }
        self.reader.set_position(self.reader.position() + 1);
        Ok(())
    }

    /// `@ file`
    fn file(&mut self) -> String {
        self.reader.set_position(self.reader.position() + 1);
        self.reader.peek();
        let start = self.reader.position();
        let rest = &self.text[start..];
        let len = rest.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        self.reader.set_position(start + len);
        String::from_utf8_lossy(&rest[..len]).into_owned()
    }

    fn quoted(&mut self) -> Result<String, ValueError> {
        let value = self.reader.value(None)?;
        Ok(String::from_utf8_lossy(value.as_slice::<u8>().unwrap_or_default()).into_owned())
    }

    /// Letters, digits, `_`, `-` and at most a colon behind them; may be nothing.
    fn word(&mut self) -> &'a str {
        let start = self.reader.position();
        let rest = &self.text[start..];
        let mut len = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')).count();
        len += usize::from(len > 0 && rest.get(len) == Some(&b':'));
        self.reader.set_position(start + len);
        std::str::from_utf8(&rest[..len]).unwrap_or("")
    }

    fn rest_of_line(&mut self) -> &'a str {
        let start = self.reader.position();
        let rest = &self.text[start..];
        let len = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        self.reader.set_position(start + len);
        std::str::from_utf8(&rest[..len]).unwrap_or("").trim()
    }

    fn line(&self, offset: usize) -> usize {
        1 + self.text[..offset.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> Spec {
        parse(text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn entries_hold_for_the_rest_of_their_block() {
        let spec = spec("-- ==\n-- input {1} output {2}\n-- entry: f g\n-- input {1}\n-- input {2}\n\n-- ==\n-- input {3}\n");
        let names: Vec<(&str, &str)> = spec.cases.iter().map(|case| (case.entry.as_str(), case.dataset.as_str())).collect();
        assert_eq!(names, [("main", "#0"), ("f", "#1"), ("g", "#1"), ("f", "#2"), ("g", "#2"), ("main", "#3")]);
        assert_eq!(spec.cases[5].line, 8);
    }

    #[test]
    fn comments_that_are_no_blocks_are_nothing() {
        let spec = spec("-- input { 1 }\n-- error: no\n\n  -- ==\n  -- input { 1 }\ndef x = 1 -- ==\n");
        assert!(spec.cases.is_empty() && spec.compile_error.is_none());
    }

    #[test]
    fn values_may_span_lines_and_hold_braces_in_strings() {
        let spec = spec("-- ==\n-- input { [1,\n--          2]\n--   \"}\" }\n-- output\n-- { true }\n");
        let Input::Values(values) = &spec.cases[0].input else { panic!() };
        assert_eq!(values.as_slice(), [Value::from(vec![1, 2]), Value::from(b"}".to_vec())]);
        assert!(matches!(&spec.cases[0].expect, Expect::Values(values) if values.len() == 1));
    }

    #[test]
    fn errors_with_an_input_are_of_the_run() {
        let of_the_run = spec("-- ==\n-- input { 1 }\n-- error: bounds\n");
        assert!(of_the_run.compile_error.is_none());
        assert!(matches!(&of_the_run.cases[0].expect, Expect::Error(pattern) if pattern.matches("out of bounds")));
        let alone = spec("-- ==\n-- error:\n");
        assert!(alone.compile_error.is_some_and(|pattern| pattern.matches("anything")));
    }

    #[test]
    fn what_is_no_regular_expression_is_meant_literally() {
        assert!(Pattern::new("f (x").matches("in f (x)"));
        assert!(!Pattern::new("f (x").matches("in f x"));
    }

    #[test]
    fn random_inputs_are_types_or_constants() {
        let spec = spec("-- ==\n-- compiled random input { [10][2]f32 i8 5i64 [1,2] f32.nan true bool }\n");
        let Input::Random(items) = &spec.cases[0].input else { panic!() };
        let is_type: Vec<bool> = items.iter().map(|item| matches!(item, RandomItem::Type { .. })).collect();
        assert_eq!(is_type, [true, true, false, false, false, false, true]);
        assert_eq!(spec.cases[0].tags, ["compiled"]);
    }

    #[test]
    fn structures_and_scripts_are_skipped_over() {
        let spec =
            spec("-- ==\n-- structure gpu-mem { Screma/Redomap 1 }\n-- script input { f {a = \"}\"} 1 }\n-- output { 1 }\n");
        assert!(matches!(&spec.cases[0].input, Input::Script(Script::Text(text)) if text == " f {a = \"}\"} 1 "));
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_blocks_never_panic(text in r#"(-- ==\n)?(-- [a-z]{0,3}(input|output|entry:|error:|tags|random|script|structure|\{|\}|@|\[|\]|1|,|"|é| ){0,8}\n){0,5}"#) {
            let _ = parse(&text);
        }
    }

    #[test]
    fn malformed_blocks_say_where() {
        for (text, place) in [
            ("-- ==\n-- input { 1 \n", "line 3"),
            ("-- ==\n-- input 1\n", "line 2, column 10"),
            ("-- ==\n-- entri: f\n", "line 2, column 4: `entri:` is no part"),
            ("-- ==\n-- entry:\n", "line 2, column 4"),
            ("-- ==\n-- random output\n", "`random` is followed by `input`"),
            ("-- ==\n-- nobench\n", "`nobench` is followed by no input"),
            ("-- ==\n-- structure {\n", "not closed"),
            ("-- ==\n-- @\n", "line 2, column 4"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(place), "{text}: {error}");
        }
    }
}
