//! Measurements as a table and as JSON, alone or beside those of a saved run.

use super::measure::Statistics;
use crate::output;
use serde_json::{Value as Json, json};

/// One entry point on one input.
#[derive(Clone, Debug)]
pub struct Measurement {
    pub file: String,
    pub entry: String,
    pub dataset: String,
    /// Of the arguments: the same for equal ones.
    pub fingerprint: String,
    pub backend: &'static str,
    pub kind: Kind,
    pub statistics: Statistics,
    /// Of arguments and results.
    pub bytes: usize,
    /// The most that values took up at one time.
    pub peak_bytes: usize,
    /// How the gradient's median relates to the function's.
    pub ratio: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Primal,
    Gradient,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Primal => "primal",
            Kind::Gradient => "gradient",
        }
    }
}

/// A saved run.
pub struct Saved {
    measurements: Vec<SavedMeasurement>,
    /// How many measurements cannot be compared with: they have no time.
    pub without_time: usize,
}

struct SavedMeasurement {
    /// Without the dataset.
    of: [String; 4],
    dataset: String,
    fingerprint: Option<String>,
    bytes: Option<u64>,
    median: f64,
}

/// What a saved run says about a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Earlier {
    Median(f64),
    /// The dataset has the name of one that had another input.
    OtherInput,
    Nothing,
}

impl Saved {
    pub fn parse(text: &str) -> Result<Saved, String> {
        let document: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Some(measurements) = document["measurements"].as_array() else {
            return Err(String::from("it has no measurements; `chadwick bench --json FILE` writes such files"));
        };
        let one = |measurement: &Json| {
            let part = |name: &str| measurement[name].as_str().unwrap_or_default().to_owned();
            Some(SavedMeasurement {
                of: ["file", "entry", "backend", "kind"].map(part),
                dataset: part("dataset"),
                fingerprint: measurement["fingerprint"].as_str().map(str::to_owned),
                bytes: measurement["bytes"].as_u64(),
                median: measurement["median_seconds"].as_f64().filter(|median| *median > 0.0 && median.is_finite())?,
            })
        };
        let read: Vec<SavedMeasurement> = measurements.iter().filter_map(one).collect();
        Ok(Saved { without_time: measurements.len() - read.len(), measurements: read })
    }

    /// A test that was added may have shifted the numbers of others: the same input counts more than the same name.
    fn find(&self, measurement: &Measurement) -> Option<&SavedMeasurement> {
        let candidates = || self.measurements.iter().filter(|saved| saved.is_of(measurement));
        let same_name = |saved: &&SavedMeasurement| saved.dataset == measurement.dataset;
        let same_input = |saved: &&SavedMeasurement| saved.fingerprint.as_ref() == Some(&measurement.fingerprint);
        let exact = candidates().find(|saved| same_name(saved) && same_input(saved));
        exact.or_else(|| candidates().find(same_input)).or_else(|| candidates().find(same_name))
    }

    fn earlier(&self, measurement: &Measurement) -> Earlier {
        match self.find(measurement) {
            None => Earlier::Nothing,
            Some(saved) if saved.has_input_of(measurement) => Earlier::Median(saved.median),
            Some(_) => Earlier::OtherInput,
        }
    }

    /// What was saved, but is not among these measurements.
    pub fn unmatched(&self, measurements: &[Measurement]) -> Vec<String> {
        let found: Vec<&SavedMeasurement> = measurements.iter().filter_map(|measurement| self.find(measurement)).collect();
        let missing = self.measurements.iter().filter(|saved| !found.iter().any(|one| std::ptr::eq(*one, *saved)));
        missing
            .map(|saved| {
                let [file, entry, backend, kind] = &saved.of;
                format!("{file}: {entry}, {} ({backend}, {kind})", saved.dataset)
            })
            .collect()
    }
}

impl SavedMeasurement {
    fn is_of(&self, measurement: &Measurement) -> bool {
        let of = [&measurement.file, &measurement.entry, measurement.backend, measurement.kind.name()];
        self.of.iter().zip(of).all(|(saved, now)| saved == now)
    }

    /// Where the fingerprint was not saved, the number of bytes tells inputs apart.
    fn has_input_of(&self, measurement: &Measurement) -> bool {
        match &self.fingerprint {
            Some(fingerprint) => *fingerprint == measurement.fingerprint,
            None => self.bytes == Some(measurement.bytes as u64),
        }
    }
}

impl Measurement {
    fn throughput(&self) -> f64 {
        if self.statistics.median > 0.0 { self.bytes as f64 / self.statistics.median } else { 0.0 }
    }

    fn json(&self, saved: Option<&Saved>) -> Json {
        let mut json = json!({
            "file": self.file,
            "entry": self.entry,
            "dataset": self.dataset,
            "fingerprint": self.fingerprint,
            "backend": self.backend,
            "kind": self.kind.name(),
            "median_seconds": self.statistics.median,
            "deviation": self.statistics.deviation,
            "repetitions": self.statistics.repetitions,
            "runs_per_repetition": self.statistics.batch,
            "converged": self.statistics.converged,
            "bytes": self.bytes,
            "bytes_per_second": self.throughput(),
            "peak_bytes": self.peak_bytes,
        });
        if let Some(ratio) = self.ratio {
            json["ratio"] = json!(ratio);
        }
        match saved.map(|saved| saved.earlier(self)) {
            Some(Earlier::Median(median)) => {
                json["compared"] = json!({ "median_seconds": median, "ratio": self.statistics.median / median });
            }
            Some(Earlier::OtherInput) => json["compared"] = json!({ "other_input": true }),
            Some(Earlier::Nothing) | None => {}
        }
        json
    }
}

pub fn as_json(measurements: &[Measurement], threads: Option<u16>, strict: bool, saved: Option<&Saved>) -> Json {
    json!({
        "bench": 1,
        "chadwick": env!("CARGO_PKG_VERSION"),
        "threads": threads,
        "floating_point": if strict { "strict" } else { "fast" },
        "measurements": measurements.iter().map(|measurement| measurement.json(saved)).collect::<Vec<_>>(),
    })
}

/// Prints a table for each file.
pub fn print(measurements: &[Measurement], saved: Option<&Saved>) {
    for (number, group) in measurements.chunk_by(|a, b| a.file == b.file).enumerate() {
        if number > 0 {
            output::line("");
        }
        output::line(&group[0].file);
        table(group, saved).iter().for_each(|line| output::line(line));
    }
    let notes = [
        ('!', "less certain than it should be: more --time would help"),
        ('?', "too few runs to tell how certain it is: more --time would help"),
    ];
    let is_there = |mark: char| measurements.iter().any(|measurement| uncertainty(&measurement.statistics).starts_with(mark));
    let shown: Vec<String> =
        notes.iter().filter(|(mark, _)| is_there(*mark)).map(|(mark, note)| format!("{mark} {note}")).collect();
    if !shown.is_empty() {
        output::line(&format!("\n{}", shown.join("\n")));
    }
}

/// What is not as certain as it should be is marked.
fn uncertainty(statistics: &Statistics) -> String {
    match statistics.deviation {
        Some(deviation) if statistics.converged => percent(deviation),
        Some(deviation) => format!("!{}", percent(deviation)),
        None => String::from("?"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn table(measurements: &[Measurement], saved: Option<&Saved>) -> Vec<String> {
    let with_ratio = measurements.iter().any(|measurement| measurement.ratio.is_some());
    let mut header: Vec<&str> = vec!["entry", "dataset", "backend", "kind", "median", "±", "throughput", "memory"];
    if with_ratio {
        header.push("÷ primal");
    }
    if saved.is_some() {
        header.extend(["was", "÷ was"]);
    }
    let mut rows = vec![header.into_iter().map(String::from).collect::<Vec<String>>()];
    for measurement in measurements {
        let statistics = &measurement.statistics;
        let mut row = vec![
            measurement.entry.clone(),
            measurement.dataset.clone(),
            measurement.backend.to_owned(),
            measurement.kind.name().to_owned(),
            seconds(statistics.median),
            uncertainty(statistics),
            format!("{}/s", bytes(measurement.throughput())),
            bytes(measurement.peak_bytes as f64),
        ];
        if with_ratio {
            row.push(measurement.ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}")));
        }
        if let Some(saved) = saved {
            row.extend(match saved.earlier(measurement) {
                Earlier::Median(median) => [seconds(median), format!("{:.2}", statistics.median / median)],
                Earlier::OtherInput => [String::from("other input"), String::new()],
                Earlier::Nothing => [String::from("-"), String::new()],
            });
        }
        rows.push(row);
    }
    let columns = rows[0].len();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        // Words to the left, numbers to the right.
        let cell = |(column, (text, width)): (usize, (&String, &usize))| match column {
            0..=3 => format!("{text:<width$}"),
            _ => format!("{text:>width$}"),
        };
        let cells: Vec<String> = row.iter().zip(&widths).enumerate().map(cell).collect();
        format!("  {}", cells.join("  ")).trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// `1.23 ms`
pub fn seconds(time: f64) -> String {
    scaled(time, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")])
}

/// `45.6 MB`
pub fn bytes(count: f64) -> String {
    scaled(count, &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

/// The number in the first unit that it fills, else in the last one, with three digits.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let unit = units.iter().find(|(unit, _)| value >= *unit).or(units.last());
    let (unit, name) = unit.copied().unwrap_or((1.0, ""));
    let number = value / unit;
    let digits = match () {
        () if number >= 100.0 || number == 0.0 => 0,
        () if number >= 10.0 => 1,
        () => 2,
    };
    format!("{number:.digits$} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(kind: Kind, median: f64) -> Measurement {
        let statistics = Statistics { median, deviation: Some(0.012), repetitions: 10, batch: 1, converged: true };
        let (file, entry, dataset) = (String::from("a.fut"), String::from("loss"), String::from("#0"));
        let ratio = (kind == Kind::Gradient).then_some(2.5);
        let fingerprint = String::from("00");
        let (bytes, peak_bytes) = (4096, 1_500_000);
        Measurement { file, entry, dataset, fingerprint, backend: "native", kind, statistics, bytes, peak_bytes, ratio }
    }

    #[test]
    fn other_inputs_are_not_compared() {
        let before = measurement(Kind::Primal, 1e-3);
        let document = as_json(std::slice::from_ref(&before), None, false, None);
        let saved = Saved::parse(&document.to_string()).expect("a saved run");
        // A test was added in front.
        let shifted = Measurement { dataset: String::from("#1"), ..before.clone() };
        assert_eq!(saved.earlier(&shifted), Earlier::Median(1e-3));
        let other = Measurement { fingerprint: String::from("01"), ..before.clone() };
        assert_eq!(saved.earlier(&other), Earlier::OtherInput);
        let lines = table(std::slice::from_ref(&other), Some(&saved));
        assert!(lines[1].ends_with("1.50 MB  other input"), "{lines:?}");
        assert_eq!(as_json(&[other], None, false, Some(&saved))["measurements"][0]["compared"], json!({ "other_input": true }));
        assert_eq!(saved.earlier(&measurement(Kind::Gradient, 1e-3)), Earlier::Nothing);
        assert_eq!(saved.unmatched(&[measurement(Kind::Gradient, 1e-3)]), ["a.fut: loss, #0 (native, primal)"]);
        assert!(saved.unmatched(&[shifted]).is_empty());
        // A run that was saved without fingerprints.
        let mut old = document;
        old["measurements"][0]["fingerprint"] = Json::Null;
        let saved = Saved::parse(&old.to_string()).expect("a saved run");
        assert_eq!(saved.earlier(&before), Earlier::Median(1e-3));
        assert_eq!(saved.earlier(&Measurement { bytes: 8192, ..before }), Earlier::OtherInput);
    }

    #[test]
    fn medians_that_are_no_times_are_left_out() {
        let medians = [json!(0.0), json!(-1.0), json!(null), json!("1"), json!(0.5)];
        let measurements: Vec<Json> = medians.iter().map(|median| json!({ "median_seconds": median })).collect();
        let saved = Saved::parse(&json!({ "measurements": measurements }).to_string()).expect("a saved run");
        assert_eq!((saved.measurements.len(), saved.without_time), (1, 4));
    }

    #[test]
    fn tables_show_ratios_to_a_saved_run() {
        let measurements = [measurement(Kind::Primal, 1e-3), measurement(Kind::Gradient, 2.5e-3)];
        let document = as_json(&measurements[..1], Some(1), false, None);
        let saved = Saved::parse(&document.to_string()).expect("a saved run");
        let faster = [measurement(Kind::Primal, 5e-4), measurements[1].clone()];
        let lines = table(&faster, Some(&saved));
        assert_eq!(
            lines[0],
            "  entry  dataset  backend  kind       median      ±  throughput   memory  ÷ primal      was  ÷ was"
        );
        assert_eq!(
            lines[1],
            "  loss   #0       native   primal     500 µs  1.2 %   8.19 MB/s  1.50 MB            1.00 ms   0.50"
        );
        assert_eq!(lines[2], "  loss   #0       native   gradient  2.50 ms  1.2 %   1.64 MB/s  1.50 MB      2.50        -");
        assert!(Saved::parse("{}").is_err() && Saved::parse("[").is_err());
    }

    #[test]
    fn of_few_runs_it_is_not_known_how_certain_they_are() {
        let few = Statistics::of(&[1.0]).expect("times");
        assert_eq!(uncertainty(&few), "?");
        let one = Measurement { statistics: few, ..measurement(Kind::Primal, 1.0) };
        assert!(one.json(None)["deviation"].is_null());
        assert_eq!(uncertainty(&Statistics { converged: false, ..measurement(Kind::Primal, 1.0).statistics }), "!1.2 %");
    }

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!([seconds(1.5), seconds(0.0123), seconds(4e-10)], ["1.50 s", "12.3 ms", "0.40 ns"]);
        assert_eq!([bytes(0.0), bytes(999.0), bytes(123_456.0)], ["0 B", "999 B", "123 kB"]);
    }
}
