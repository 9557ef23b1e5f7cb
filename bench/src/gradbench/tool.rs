//! Programs that answer the messages of GradBench, a line of JSON for each.

use super::Measured;
use crate::Result;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

/// What a tool did with a function.
pub enum Outcome {
    Measured(Measured),
    /// The tool does not have the module, and says so.
    Refused(String),
}

/// The messages that ask for a function, one per line: to start, to define its module, and to evaluate it.
pub fn messages(module: &str, function: &str, input: &Json) -> [String; 3] {
    let define = json!({ "id": 1, "kind": "define", "module": module });
    let evaluate = json!({ "id": 2, "kind": "evaluate", "module": module, "function": function }).to_string();
    // The fields of `Value` are sorted; what the input is for comes first here.
    let evaluate = format!("{},\"input\":{input}}}", &evaluate[..evaluate.len() - 1]);
    [json!({ "id": 0, "kind": "start" }).to_string(), define.to_string(), evaluate]
}

/// Runs a function in a process of its own.
pub fn measure(command: &[String], module: &str, function: &str, input: &Json) -> Result<Outcome> {
    let (program, arguments) = command.split_first().ok_or("no tool")?;
    let spawned = Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| format!("`{program}`: {error}"))?;
    let outcome = converse(&mut child, &messages(module, function, input));
    let _ = child.wait();
    outcome
}

fn converse(child: &mut Child, [start, define, evaluate]: &[String; 3]) -> Result<Outcome> {
    let (mut to, from) = (child.stdin.take().ok_or("no pipe")?, child.stdout.take().ok_or("no pipe")?);
    let mut from = BufReader::new(from);
    let mut answer = |message: &str| -> Result<Answer> {
        to.write_all(format!("{message}\n").as_bytes())?;
        to.flush()?;
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Err("the tool ended without an answer".into());
        }
        Ok(serde_json::from_str(&line)?)
    };
    answer(start)?;
    if let Err(problem) = answer(define)?.checked() {
        return Ok(Outcome::Refused(problem));
    }
    let answer = answer(evaluate)?.checked()?;
    let times = answer.timings.iter().filter(|timing| timing.name == "evaluate");
    let least = times.map(|timing| timing.nanoseconds).min().ok_or("the answer has no times")?;
    Ok(Outcome::Measured(Measured { milliseconds: least as f64 / 1e6, peak: peak(child), output: answer.output.0 }))
}

/// The peak of a process that is still there, in MiB.
fn peak(child: &Child) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let text = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = text.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes / 1024.0)
}

#[derive(Deserialize)]
struct Answer {
    success: Option<bool>,
    error: Option<String>,
    #[serde(default)]
    timings: Vec<Timing>,
    #[serde(default)]
    output: Numbers,
}

#[derive(Deserialize)]
struct Timing {
    name: String,
    nanoseconds: u64,
}

impl Answer {
    fn checked(self) -> std::result::Result<Answer, String> {
        match (self.success, self.error) {
            (Some(false), None) => Err(String::from("no success")),
            (_, Some(error)) => Err(error.lines().next().unwrap_or("").to_owned()),
            (_, None) => Ok(Answer { error: None, ..self }),
        }
    }
}

/// All numbers of a document, without a tree of it; fields of objects in the order of their names.
#[derive(Default)]
struct Numbers(Vec<f64>);

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Numbers, D::Error> {
        let mut numbers = Vec::new();
        Collect(&mut numbers).deserialize(deserializer)?;
        Ok(Numbers(numbers))
    }
}

/// Where numbers go.
struct Collect<'a>(&'a mut Vec<f64>);

impl<'de> DeserializeSeed<'de> for Collect<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Collect<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("numbers")
    }

    fn visit_f64<E: Error>(self, number: f64) -> std::result::Result<(), E> {
        self.0.push(number);
        Ok(())
    }

    fn visit_i64<E: Error>(self, number: i64) -> std::result::Result<(), E> {
        self.visit_f64(number as f64)
    }

    fn visit_u64<E: Error>(self, number: u64) -> std::result::Result<(), E> {
        self.visit_f64(number as f64)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<(), A::Error> {
        while items.next_element_seed(Collect(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<(), A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, Numbers(numbers))) = entries.next_entry::<String, Numbers>()? {
            fields.insert(name, numbers);
        }
        self.0.extend(fields.into_values().flatten());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Numbers;

    #[test]
    fn fields_are_in_the_order_of_their_names() -> serde_json::Result<()> {
        let Numbers(numbers) = serde_json::from_str(r#"{"b":[[1,2.5],[-3]],"a":{"z":4,"y":[]}}"#)?;
        assert_eq!(numbers, [4.0, 1.0, 2.5, -3.0]);
        Ok(())
    }
}
