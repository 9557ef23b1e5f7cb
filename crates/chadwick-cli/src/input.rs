//! Reading files.

use chadwick::values::{Place, ValueError};
use std::io::Read;
use std::path::Path;

/// What is behind this is not read; the compiler refuses files of this size.
const MAX_SOURCE_BYTES: u64 = 1 << 28;

/// The text of a program.
pub fn read_source(path: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
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

/// Larger files of data are refused, also after unpacking.
pub const MAX_DATA_BYTES: u64 = 1 << 34;

/// The bytes of a data file, unpacked if its name ends in `.gz`.
pub fn read_data(path: &Path) -> Result<Vec<u8>, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let packed = path.extension().is_some_and(|extension| extension == "gz");
    let result = match packed {
        true => flate2::read::MultiGzDecoder::new(std::io::BufReader::new(file)).take(MAX_DATA_BYTES).read_to_end(&mut bytes),
        false => file.take(MAX_DATA_BYTES).read_to_end(&mut bytes),
    };
    result.map_err(|error| error.to_string())?;
    Ok(bytes)
}
