//! Writing to the terminal or a pipe.

use chadwick::render::Style;
use std::io::{IsTerminal, Write};

/// Writes a line to standard output. Whoever reads it may be gone; then the program ends quietly, but does not claim to have succeeded.
pub fn line(text: &str) {
    bytes(format!("{text}\n").as_bytes());
}

/// The exit status of a program that a closed pipe ended.
const PIPE_CLOSED: i32 = 128 + 13;

/// Writes to standard output as it is.
pub fn bytes(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let Err(error) = out.write_all(bytes).and_then(|()| out.flush()) else { return };
    match error.kind() {
        std::io::ErrorKind::BrokenPipe => std::process::exit(PIPE_CLOSED),
        _ => {
            error_line(&format!("error: standard output: {error}"));
            std::process::exit(1);
        }
    }
}

/// Writes rows as a table whose first columns are texts and the others numbers.
pub fn table(rows: &[Vec<String>], texts: usize) {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cell = |(column, (text, width)): (usize, (&String, &usize))| match column < texts {
            true => format!("{text:<width$}"),
            false => format!("{text:>width$}"),
        };
        let cells: Vec<String> = row.iter().zip(&widths).enumerate().map(cell).collect();
        line(cells.join("  ").trim_end());
    }
}

/// Writes a line to standard error; there is nowhere to complain if that fails.
pub fn error_line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Colours, where they are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    enabled: bool,
}

impl Paint {
    pub fn stdout() -> Self {
        Paint { enabled: std::io::stdout().is_terminal() && colours_allowed() }
    }

    pub fn stderr() -> Self {
        Paint { enabled: std::io::stderr().is_terminal() && colours_allowed() }
    }

    fn code(self, code: &str, text: &str) -> String {
        if self.enabled { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub fn good(self, text: &str) -> String {
        self.code("32", text)
    }

    pub fn bad(self, text: &str) -> String {
        self.code("1;31", text)
    }

    pub fn warn(self, text: &str) -> String {
        self.code("33", text)
    }
}

/// The facade's style for what goes where the paint goes.
pub fn style(paint: Paint) -> Style {
    Style { colours: paint.enabled }
}

/// <https://no-color.org>
fn colours_allowed() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
