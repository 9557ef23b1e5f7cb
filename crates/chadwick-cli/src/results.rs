//! Results in the format that is asked for, to standard output or a file.

use crate::options::{Format, OutputOptions};
use crate::output;
use chadwick::values::{Value, binary, json, npy};
use chadwick::{Error, Result};

/// Named values.
pub struct Results {
    pub values: Vec<(String, Value)>,
    /// Whether the text form and JSON show the names.
    pub named: bool,
}

impl Results {
    pub fn write(&self, options: &OutputOptions) -> Result<()> {
        let named = options.output.as_deref().and_then(Format::of_path);
        let format = if options.json { Some(Format::Json) } else { options.format.or(named) };
        let bytes = self.encode(format.unwrap_or(Format::Text))?;
        match &options.output {
            Some(path) => std::fs::write(path, bytes)
                .map_err(|error| Error::File { path: path.display().to_string(), message: error.to_string() }),
            None => {
                output::bytes(&bytes);
                Ok(())
            }
        }
    }

    fn encode(&self, format: Format) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match format {
            Format::Text => {
                for (name, value) in &self.values {
                    if self.named {
                        bytes.extend(format!("{name} = ").bytes());
                    }
                    bytes.extend(format!("{value}\n").bytes());
                }
            }
            Format::Binary => self.values.iter().for_each(|(_, value)| binary::write_value(value, &mut bytes)),
            Format::Json => {
                let document = match (self.named, self.values.as_slice()) {
                    (true, values) => json::object(values.iter().map(|(name, value)| (name.as_str(), value))),
                    (false, [(_, only)]) => json::from_value(only),
                    (false, many) => many.iter().map(|(_, value)| json::from_value(value)).collect(),
                };
                bytes.extend(document.to_string().bytes());
                bytes.push(b'\n');
            }
            Format::Npy => match self.values.as_slice() {
                [(_, only)] => bytes = npy::write(only),
                many => {
                    let message = format!("a .npy file holds one array, but there are {}; use --format npz", many.len());
                    return Err(Error::argument(message));
                }
            },
            Format::Npz => {
                let source = String::from("results");
                // Arrays without names go by NumPy's own.
                let is_number = |name: &str| name.starts_with(|c: char| c.is_ascii_digit());
                let named = self.values.iter().enumerate().map(|(number, (name, value))| match is_number(name) {
                    true => (format!("arr_{number}"), value.clone()),
                    false => (name.clone(), value.clone()),
                });
                bytes = npy::write_archive(&named.collect::<Vec<_>>()).map_err(|error| Error::Value { source, error })?;
            }
        }
        Ok(bytes)
    }
}
