//! What is wrong with a file of values, and where.

use std::fmt;

/// Where in the input something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Counting from one; columns in characters.
    Text { line: usize, column: usize },
    /// In bytes from the start.
    Byte(usize),
    /// The whole input.
    Whole,
}

/// A file of values that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    pub place: Place,
    pub message: String,
}

impl ValueError {
    pub fn at_byte(offset: usize, message: impl Into<String>) -> Self {
        ValueError { place: Place::Byte(offset), message: message.into() }
    }

    pub fn whole(message: impl Into<String>) -> Self {
        ValueError { place: Place::Whole, message: message.into() }
    }

    /// Values that take up more memory than they may.
    pub fn too_large(place: Place, max_bytes: usize) -> Self {
        ValueError { place, message: format!("the values take up more memory than the {max_bytes} bytes that they may") }
    }

    /// An error at a byte of a text.
    pub fn in_text(text: &[u8], offset: usize, message: impl Into<String>) -> Self {
        let before = &text[..offset.min(text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        // Bytes that continue a character do not count.
        let column = 1 + before[start..].iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        ValueError { place: Place::Text { line, column }, message: message.into() }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Text { line, column } => write!(f, "line {line}, column {column}: {}", self.message),
            Place::Byte(offset) => write!(f, "byte {offset}: {}", self.message),
            Place::Whole => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for ValueError {}
