//! Reading files.

use chadwick::values::{Place, ValueError};
use std::io::Read;
use std::path::Path;

/// What is behind this is not read; the compiler refuses files of this size.
const MAX_SOURCE_BYTES: u64 = 1 << 28;

/// The text of a program.
pub fn read_source(path: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    // A pipe or a device has no end that could be waited for.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(format!("{}: a program is read from a file, and this is none", path.display()));
    }
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MAX_SOURCE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_SOURCE_BYTES {
        return Err(format!("{}: a program of more than {MAX_SOURCE_BYTES} bytes is refused", path.display()));
    }
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let place = ValueError::in_text(error.as_bytes(), offset, "").place;
        let place = match place {
            Place::Text { line, column } => format!("{line}:{column}"),
            _ => String::new(),
        };
        format!("{}:{place}: this is no UTF-8 text", path.display())
    })
}

/// The bytes of a data file, unpacked if its name ends in `.gz`, for values of at most so many bytes.
pub fn read_data(path: &Path, max_value_bytes: usize) -> Result<Vec<u8>, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    match path.extension().is_some_and(|extension| extension == "gz") {
        true => read_bounded(flate2::read::MultiGzDecoder::new(std::io::BufReader::new(file)), max_value_bytes),
        false => read_bounded(file, max_value_bytes),
    }
}

/// All bytes of a source of values. Text is longer than what it stands for, but not by much.
pub fn read_bounded(source: impl Read, max_value_bytes: usize) -> Result<Vec<u8>, String> {
    let most = max_value_bytes.saturating_mul(8).saturating_add(1 << 20);
    let mut bytes = Vec::new();
    source.take((most as u64).saturating_add(1)).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    match bytes.len() > most {
        true => Err(format!("more data than {max_value_bytes} bytes of values can need")),
        false => Ok(bytes),
    }
}
