//! Tables of all engines, in Markdown.

use crate::engines::{Measures, Outcome, Row};
use chadwick::compile::{Cotangents, Definition, Engine, Rung};
use chadwick_exam::{Cost, FAMILIES, Factor, growth};
use serde_json::{Value as Json, json};

/// Gradients by `chad-fast` that take less hand back their arguments; a ratio to that would say nothing.
const NO_TIME: f64 = 1e-7;

/// The programs for which there is something to be held against, with what that is.
fn beside_chad_fast<'r>(engines: &[Engine], rows: &'r [Row]) -> Vec<(&'r Row, &'r Measures)> {
    let Some(at) = engines.iter().position(|engine| *engine == Engine::ChadFast) else { return Vec::new() };
    let measured = rows.iter().filter_map(|row| Some((row, row.gradients.get(at)?.measures()?)));
    measured.filter(|(_, measures)| measures.native.is_some_and(|native| native.seconds > NO_TIME)).collect()
}

/// All engines beside `chad-fast`: means of what the programs cost.
pub fn summary(engines: &[Engine], rows: &[Row]) -> String {
    let mut text = String::from(
        "| ÷ `chad-fast` | programs | work | worst | code | worst | memory | worst | native time | worst | native memory | worst |\n\
         | --- | :-- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n",
    );
    let beside = beside_chad_fast(engines, rows);
    let line = |name: String, taken: String, of: &dyn Fn(&Row) -> Option<Measures>| {
        let cells: Vec<String> = QUANTITIES
            .iter()
            .map(|quantity| {
                let ratio = |(row, by): &(&Row, &Measures)| Some((quantity(&of(row)?)? / quantity(by)?, row.workload.name));
                let ratios: Vec<(f64, &str)> = beside.iter().filter_map(ratio).collect();
                let worst = ratios.iter().max_by(|one, other| one.0.total_cmp(&other.0));
                match worst {
                    None => String::from("– | –"),
                    Some((most, program)) => {
                        let mean = mean(ratios.iter().map(|(ratio, _)| *ratio));
                        format!("{} | {} {program}", three_digits(mean), three_digits(*most))
                    }
                }
            })
            .collect();
        format!("| {name} | {taken} | {} |\n", cells.join(" | "))
    };
    text += &line(String::from("the function itself"), rows.len().to_string(), &|row| Some(row.primal));
    for (at, engine) in engines.iter().enumerate() {
        let of = |row: &Row| row.gradients[at].measures().copied();
        text += &line(format!("`{}`", engine.name()), taken(rows, at), &of);
    }
    text
}

/// What is compared.
const QUANTITIES: [fn(&Measures) -> Option<f64>; 5] = [
    |measures| Some(measures.work),
    |measures| measures.code,
    |measures| Some(measures.memory),
    |measures| measures.native.map(|native| native.seconds),
    |measures| measures.native.map(|native| native.memory),
];

fn taken(rows: &[Row], at: usize) -> String {
    let count = |which: fn(&Outcome) -> bool| rows.iter().filter(|row| which(&row.gradients[at])).count();
    let mut text = count(|outcome| matches!(outcome, Outcome::Measured(_))).to_string();
    for (count, word) in [
        (count(|outcome| matches!(outcome, Outcome::Refused(_))), "refused"),
        (count(|outcome| matches!(outcome, Outcome::TooLarge)), "too large"),
    ] {
        if count > 0 {
            text += &format!(", {count} {word}");
        }
    }
    text
}

/// Native times of each program.
pub fn native_times(engines: &[Engine], rows: &[Row]) -> String {
    let native: Vec<usize> = (0..engines.len()).filter(|at| engines[*at].has_native_code()).collect();
    let names: Vec<String> = native.iter().map(|at| format!(" `{}` |", engines[*at].name())).collect();
    let mut text = format!("| gradient, ms | sizes | function |{}\n", names.concat());
    text += &format!("| --- | --- | --: |{}\n", " --: |".repeat(native.len()));
    for row in rows {
        let sizes: Vec<String> = row.workload.sizes.iter().map(i64::to_string).collect();
        let shown = |measures: Option<&Measures>| {
            measures.and_then(|measures| measures.native).map_or(String::from("–"), |it| three_digits(it.seconds * 1e3))
        };
        text += &format!("| {} | {} | {} |", row.workload.name, sizes.join("×"), shown(Some(&row.primal)));
        for at in &native {
            text += &format!(" {} |", shown(row.gradients[*at].measures()));
        }
        text.push('\n');
    }
    text
}

/// The columns of Table 8.1 of the thesis, with its verdicts, and the one system that it does not have.
const COLUMNS: [(Engine, [&str; 6]); 6] = [
    (Engine::Dual(Rung::Tape), ["yes", "yes", "no", "(yes)", "somewhat", "yes"]),
    (Engine::DualArrays, ["okay", "mostly", "okay", "somewhat", "yes", "no"]),
    (Engine::Chad(Definition::Plain), ["yes", "no", "no", "yes", "yes", "yes"]),
    (Engine::ChadEfficient(Cotangents::InArray), ["yes", "yes", "no", "yes", "yes", "yes"]),
    (Engine::ChadFast, ["okay", "mostly", "hopefully", "yes", "yes", "probably"]),
    (Engine::LinearMaps, ["", "", "", "", "", ""]),
];

/// Table 8.1 of the thesis: its words, and what was measured.
pub fn of_the_thesis(engines: &[Engine], rows: &[Row], lines_of_code: &dyn Fn(Engine) -> Option<usize>) -> String {
    let columns: Vec<(usize, &(Engine, [&str; 6]))> =
        COLUMNS.iter().filter_map(|column| Some((engines.iter().position(|engine| *engine == column.0)?, column))).collect();
    let growths: Vec<Vec<Option<Cost>>> =
        columns.iter().map(|(_, (engine, _))| FAMILIES.iter().map(|family| growth(*engine, family).ok()).collect()).collect();
    let mut text = String::from("| |");
    columns.iter().for_each(|(at, _)| text += &format!(" `{}` |", engines[*at].name()));
    text += &format!("\n| --- |{}\n", " --- |".repeat(columns.len()));
    let mut line = |at: usize, what: &str, cell: &dyn Fn(usize) -> String| {
        text += &format!("| {what} |");
        for (place, (_, (_, words))) in columns.iter().enumerate() {
            let word = if words[at].is_empty() { String::new() } else { format!("{}: ", words[at]) };
            text += &format!(" {word}{} |", cell(place));
        }
        text.push('\n');
    };
    let of = |place: usize, row: &Row| row.gradients[columns[place].0].measures().copied();
    let reference = beside_chad_fast(engines, rows);
    let beside = |place: usize, quantity: fn(&Measures) -> Option<f64>| -> Option<f64> {
        let ratio = |(row, by): &(&Row, &Measures)| Some(quantity(&of(place, row)?)? / quantity(by)?);
        let ratios: Vec<f64> = reference.iter().filter_map(ratio).collect();
        (!ratios.is_empty()).then(|| mean(ratios.into_iter()))
    };
    line(0, "simple, provable: lines of the engine", &|place| {
        lines_of_code(columns[place].1.0).map_or(String::from("–"), |lines| lines.to_string())
    });
    line(1, "right complexity: families whose factor is constant", &|place| {
        let measured: Vec<&Cost> = growths[place].iter().flatten().collect();
        let constant = measured.iter().filter(|cost| cost.factor() == Factor::Constant).count();
        format!("{constant} of {}", measured.len())
    });
    line(2, "fast in practice: native time ÷ `chad-fast`", &|place| match (
        beside(place, QUANTITIES[3]),
        beside(place, QUANTITIES[0]),
    ) {
        (Some(time), _) => three_digits(time),
        (None, Some(work)) => format!("not native; work ÷ `chad-fast` {}", three_digits(work)),
        (None, None) => String::from("–"),
    });
    line(3, "array combinators: programs taken", &|place| format!("{} of {}", taken(rows, columns[place].0), rows.len()));
    line(4, "parallelism: native time on one thread ÷ several", &|place| {
        let ratio = |row: &Row| {
            let native = of(place, row)?.native?;
            Some(native.seconds / native.parallel?)
        };
        let ratios: Vec<f64> = reference.iter().filter_map(|(row, _)| ratio(row)).collect();
        match ratios.iter().copied().reduce(f64::max) {
            None => String::from("–"),
            Some(most) => format!("{}, at most {}", three_digits(mean(ratios.into_iter())), three_digits(most)),
        }
    });
    line(5, "higher-order: nested functions, work ÷ function", &|place| {
        let at = FAMILIES.iter().position(|family| family.name == "lambdas");
        match at.and_then(|at| growths[place][at].as_ref()) {
            None => String::from("refused"),
            Some(cost) if cost.factor() == Factor::Constant => three_digits(cost.ratios()[2]),
            Some(cost) => format!("{}, growing", three_digits(cost.ratios()[2])),
        }
    });
    text
}

pub fn as_json(engines: &[Engine], rows: &[Row]) -> Json {
    let measures = |measures: &Measures| {
        let native = measures
            .native
            .map(|native| json!({ "seconds": native.seconds, "parallel": native.parallel, "memory": native.memory }));
        json!({ "work": measures.work, "code": measures.code, "memory": measures.memory, "native": native })
    };
    let row = |row: &Row| {
        let gradients = engines.iter().zip(&row.gradients).map(|(engine, outcome)| match outcome {
            Outcome::Measured(found) => json!({ "engine": engine.name(), "measured": measures(found) }),
            Outcome::Refused(reason) => json!({ "engine": engine.name(), "refused": reason }),
            Outcome::TooLarge => json!({ "engine": engine.name(), "too_large": true }),
        });
        json!({
            "name": row.workload.name, "sizes": row.workload.sizes, "counted": row.workload.counted,
            "primal": measures(&row.primal), "gradients": gradients.collect::<Vec<_>>(),
        })
    };
    rows.iter().map(row).collect()
}

/// The geometric one.
fn mean(ratios: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = ratios.len() as f64;
    (ratios.map(f64::ln).sum::<f64>() / count).exp()
}

/// `0.0123`, `1.23`, `123`, `12345`
pub fn three_digits(number: f64) -> String {
    let digits = (2 - number.log10().floor() as i64).clamp(0, 6) as usize;
    format!("{number:.digits$}")
}
