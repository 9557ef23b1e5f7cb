//! Reading messages. The input of an evaluation may be large: it goes straight into arrays, of the types that the entry point wants.

use super::modules::Modules;
use chadwick::values::fields::{Fields, Found};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value as Json;
use serde_json::value::RawValue;
use std::fmt;
use std::io::{BufRead, BufReader, Read};

/// A message as far as it could be read.
#[derive(Default)]
pub struct Message {
    /// `null` where the message has none.
    pub id: Json,
    pub kind: Option<String>,
    pub module: Option<String>,
    pub function: Option<String>,
    pub input: Input,
    /// Why the rest could not be read.
    pub problem: Option<String>,
}

#[derive(Default)]
pub enum Input {
    #[default]
    Missing,
    Read(Box<Found>),
    /// It came before the message said what it is for, or is for nothing we know.
    Unread(Box<RawValue>),
}

/// The bytes up to the end of a line, and no more.
pub struct Line<'r, R: BufRead> {
    reader: &'r mut R,
    ended: bool,
}

impl<'r, R: BufRead> Line<'r, R> {
    pub fn new(reader: &'r mut R) -> Self {
        Line { reader, ended: false }
    }
}

impl<R: BufRead> Read for Line<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.ended || buffer.is_empty() {
            return Ok(0);
        }
        let available = self.reader.fill_buf()?;
        let available = &available[..available.len().min(buffer.len())];
        let end = available.iter().position(|byte| *byte == b'\n');
        let count = end.unwrap_or(available.len());
        buffer[..count].copy_from_slice(&available[..count]);
        self.ended = end.is_some() || count == 0;
        self.reader.consume(count + usize::from(end.is_some()));
        Ok(count)
    }
}

/// Reads the message on a line; `None` if the line is blank.
pub fn read<R: BufRead>(line: Line<'_, R>, modules: &Modules) -> Option<Message> {
    let mut line = BufReader::with_capacity(1 << 16, line);
    loop {
        match line.fill_buf() {
            Ok([]) => return None,
            Ok([b' ' | b'\t' | b'\r', ..]) => line.consume(1),
            _ => break,
        }
    }
    let mut message = Message::default();
    let mut json = serde_json::Deserializer::from_reader(&mut line);
    let result = Reader { message: &mut message, modules }.deserialize(&mut json).and_then(|()| json.end());
    if let Err(error) = result {
        message.problem.get_or_insert(match error.is_data() {
            true => error.to_string(),
            false => format!("malformed JSON: {error}"),
        });
    }
    // What is left of a broken line is no message of its own. If it cannot be read, nor can the next.
    let _ = std::io::copy(&mut line, &mut std::io::sink());
    Some(message)
}

/// Reads the input of an evaluation. Fails where it is no JSON.
pub fn read_input<'de, D: Deserializer<'de>>(json: D, fields: &Fields) -> Result<Found, String> {
    let mut found = fields.nothing();
    match fields.seed(&mut found).deserialize(json) {
        Ok(()) => Ok(found),
        Err(error) => Err(about(fields, found.last, &error.to_string())),
    }
}

/// What is wrong with an input, and with which of its fields.
pub fn about(fields: &Fields, number: Option<usize>, problem: &str) -> String {
    match number.and_then(|number| fields.names().get(number)) {
        Some(name) => format!("input `{name}`: {problem}"),
        None => format!("input: {problem}"),
    }
}

struct Reader<'a> {
    message: &'a mut Message,
    modules: &'a Modules,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let message = self.message;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "id" | "kind" | "module" | "function" => match (key.as_str(), map.next_value()?) {
                    ("id", id @ Json::Number(_)) => message.id = id,
                    ("kind", Json::String(kind)) => message.kind = Some(kind),
                    ("module", Json::String(module)) => message.module = Some(module),
                    ("function", Json::String(function)) => message.function = Some(function),
                    (name, _) => {
                        let wanted = if name == "id" { "number" } else { "string" };
                        message.problem.get_or_insert(format!("the `{name}` is no {wanted}"));
                    }
                },
                "input" => {
                    let entry = match (&message.module, &message.function) {
                        (Some(module), Some(function)) => self.modules.entry(module, function).ok(),
                        _ => None,
                    };
                    message.input = match entry {
                        Some(entry) => Input::Read(Box::new(map.next_value_seed(InputReader { fields: entry.fields() })?)),
                        None => Input::Unread(map.next_value()?),
                    };
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

struct InputReader<'a> {
    fields: &'a Fields,
}

impl<'de> DeserializeSeed<'de> for InputReader<'_> {
    type Value = Found;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Found, D::Error> {
        read_input(deserializer, self.fields).map_err(D::Error::custom)
    }
}
