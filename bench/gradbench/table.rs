//! The table of times: a line for each workload.

use crate::options::Peer;
use chadwick_bench::comparison::three_digits;

/// What is known about one function by one side.
#[derive(Clone, Copy)]
pub enum Cell {
    /// In milliseconds.
    Time(f64),
    /// There is no such function.
    Absent,
    /// It failed, or gave another result.
    Failed,
}

impl Cell {
    /// In milliseconds; not a number if there is none.
    pub fn time(self) -> f64 {
        match self {
            Cell::Time(milliseconds) => milliseconds,
            Cell::Absent | Cell::Failed => f64::NAN,
        }
    }

    fn text(self) -> String {
        match self {
            Cell::Time(milliseconds) => three_digits(milliseconds),
            Cell::Absent => String::from("–"),
            Cell::Failed => String::from("failed"),
        }
    }
}

/// A function and its derivative.
pub struct Pair {
    pub primal: Cell,
    pub derivative: Cell,
}

pub struct Row {
    pub ours: Pair,
    /// In the order of the options.
    pub peers: Vec<Pair>,
    /// Of our derivative, in MiB.
    pub peak: Option<f64>,
}

/// The first two lines. With peers, our derivative is divided by the fastest of their functions and of their derivatives.
pub fn head(peers: &[Peer]) -> String {
    let mut cells: Vec<String> = ["workload", "primal ms", "derivative ms", "ratio", "peak MiB"].map(str::to_owned).into();
    cells.extend(peers.iter().flat_map(|peer| [format!("{} primal", peer.name()), format!("{} derivative", peer.name())]));
    if !peers.is_empty() {
        cells.extend(["derivative / fastest primal", "derivative / fastest derivative"].map(str::to_owned));
    }
    format!("| {} |\n| --- |{}\n", cells.join(" | "), " --: |".repeat(cells.len() - 1))
}

pub fn line(name: &str, row: &Row) -> String {
    let own = row.ours.derivative.time();
    let mut cells = vec![
        name.to_owned(),
        row.ours.primal.text(),
        row.ours.derivative.text(),
        quotient(own, row.ours.primal.time()),
        row.peak.map_or(String::from("–"), |mebibytes| format!("{mebibytes:.0}")),
    ];
    cells.extend(row.peers.iter().flat_map(|peer| [peer.primal.text(), peer.derivative.text()]));
    if !row.peers.is_empty() {
        // The least of times, none of which is a number if there are none.
        let least = |times: fn(&Pair) -> Cell| row.peers.iter().map(times).map(Cell::time).fold(f64::NAN, f64::min);
        cells.push(quotient(own, least(|pair| pair.primal)));
        cells.push(quotient(own, least(|pair| pair.derivative)));
    }
    format!("| {} |", cells.join(" | "))
}

fn quotient(time: f64, by: f64) -> String {
    let quotient = time / by;
    if quotient.is_nan() { String::from("–") } else { format!("{quotient:.2}") }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Pair, Row, line};

    #[test]
    fn ratios_are_to_the_fastest_peer_that_is_right() {
        let pair = |primal, derivative| Pair { primal, derivative };
        let row = Row {
            ours: pair(Cell::Time(2.0), Cell::Time(6.0)),
            peers: vec![
                pair(Cell::Time(4.0), Cell::Failed),
                pair(Cell::Time(3.0), Cell::Time(8.0)),
                pair(Cell::Absent, Cell::Absent),
            ],
            peak: None,
        };
        assert_eq!(
            line("gmm 2_5", &row),
            "| gmm 2_5 | 2.00 | 6.00 | 3.00 | – | 4.00 | failed | 3.00 | 8.00 | – | – | 2.00 | 0.75 |"
        );
    }
}
