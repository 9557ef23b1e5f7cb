//! Times against sizes as a picture: a panel per evaluation, both axes logarithmic.

use serde_json::Value as Json;
use std::fmt::Write;

/// What was measured of a workload.
pub struct Point {
    pub module: &'static str,
    /// Of the input.
    pub size: f64,
    pub primal: f64,
    pub derivative: f64,
}

/// How large an input is: as many numbers as it has, or, where it only says how many there are, as its largest integer.
pub fn size(input: &Json) -> f64 {
    fn visit(input: &Json, count: &mut f64, largest: &mut f64) {
        match input {
            Json::Number(number) => {
                *count += 1.0;
                *largest = number.as_u64().map_or(*largest, |integer| largest.max(integer as f64));
            }
            Json::Array(items) => items.iter().for_each(|item| visit(item, count, largest)),
            Json::Object(fields) => fields.values().for_each(|field| visit(field, count, largest)),
            _ => {}
        }
    }
    let (mut count, mut largest) = (0.0, 0.0);
    visit(input, &mut count, &mut largest);
    largest.max(count)
}

const WIDTH: f64 = 280.0;
const HEIGHT: f64 = 210.0;
const MARGIN: f64 = 44.0;
const COLUMNS: usize = 4;
const PRIMAL: &str = "#4477aa";
const DERIVATIVE: &str = "#cc6677";

/// The picture, as SVG.
pub fn svg(points: &[Point]) -> String {
    let mut modules: Vec<&str> = points.iter().map(|point| point.module).collect();
    modules.dedup();
    let rows = modules.len().div_ceil(COLUMNS);
    let (width, height) = (WIDTH * COLUMNS.min(modules.len()) as f64, HEIGHT * rows as f64 + 24.0);
    let mut out = String::new();
    let mut line = |text: String| {
        // Writing to a string does not fail.
        let _ = writeln!(out, "{text}");
    };
    line(format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="11">"#
    ));
    line(String::from(r#"<rect width="100%" height="100%" fill="white"/>"#));
    for (number, module) in modules.iter().enumerate() {
        let own: Vec<&Point> = points.iter().filter(|point| point.module == *module).collect();
        let (left, top) = ((number % COLUMNS) as f64 * WIDTH, (number / COLUMNS) as f64 * HEIGHT);
        line(format!(r#"<g transform="translate({left},{top})">"#));
        panel(module, &own, &mut line);
        line(String::from("</g>"));
    }
    let legend = height - 8.0;
    line(format!(
        r#"<text x="{MARGIN}" y="{legend}">milliseconds against the size of the input: <tspan fill="{PRIMAL}">function</tspan>, <tspan fill="{DERIVATIVE}">derivative</tspan></text>"#
    ));
    line(String::from("</svg>"));
    out
}

fn panel(module: &str, points: &[&Point], line: &mut dyn FnMut(String)) {
    let times = || points.iter().flat_map(|point| [point.primal, point.derivative]).filter(|time| *time > 0.0);
    let across = Axis::over(points.iter().map(|point| point.size), MARGIN, WIDTH - 12.0);
    let upwards = Axis::over(times(), HEIGHT - 30.0, 24.0);
    let (right, bottom) = (WIDTH - 12.0, HEIGHT - 30.0);
    line(format!(r#"<text x="{MARGIN}" y="16" font-weight="bold">{module}</text>"#));
    line(format!(r##"<path d="M{MARGIN} 24V{bottom}H{right}" fill="none" stroke="#888888"/>"##));
    for power in across.powers() {
        let x = across.place(10f64.powi(power));
        line(format!(r#"<text x="{x:.1}" y="{}" text-anchor="middle">{}</text>"#, bottom + 14.0, power_of_ten(power)));
    }
    for power in upwards.powers() {
        let y = upwards.place(10f64.powi(power));
        line(format!(r##"<path d="M{MARGIN} {y:.1}H{right}" stroke="#e4e4e4"/>"##));
        line(format!(r#"<text x="{}" y="{:.1}" text-anchor="end">{}</text>"#, MARGIN - 4.0, y + 4.0, power_of_ten(power)));
    }
    let series = |time: fn(&Point) -> f64| points.iter().map(|point| (point.size, time(point))).collect::<Vec<_>>();
    for (colour, measured) in [(PRIMAL, series(|point| point.primal)), (DERIVATIVE, series(|point| point.derivative))] {
        let mut places: Vec<(f64, f64)> = measured
            .into_iter()
            .filter(|(_, time)| *time > 0.0)
            .map(|(size, time)| (across.place(size), upwards.place(time)))
            .collect();
        places.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (x, y) in &places {
            line(format!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="2.5" fill="{colour}"/>"#));
        }
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        // Where more than the size matters, a line would say nothing.
        if path.len() > 1 && places.is_sorted_by(|one, other| one.0 < other.0 && one.1 >= other.1) {
            line(format!(r#"<path d="M{}" fill="none" stroke="{colour}"/>"#, path.join("L")));
        }
    }
}

fn power_of_ten(power: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raised = |digit: char| digit.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize]);
    format!("10{}", power.to_string().chars().map(raised).collect::<String>())
}

/// A logarithmic axis from one place to another.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Axis {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = (low.log10().floor(), high.log10().ceil());
        Axis { low, high: if high > low { high } else { low + 1.0 }, from, to }
    }

    fn place(&self, value: f64) -> f64 {
        self.from + (value.log10() - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    fn powers(&self) -> std::ops::RangeInclusive<i32> {
        self.low as i32..=self.high as i32
    }
}
