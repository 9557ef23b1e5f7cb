//! What several threads bring, beside what they bring to a reference, and the bars for that.

/// How many times faster than one thread both sides are.
#[derive(Clone, Copy, Debug)]
pub struct Speedup {
    pub reference: f64,
    pub ours: f64,
}

/// Of the reference's speed-up, so much is expected of ours.
const SHARE: f64 = 0.9;
/// Where the reference gets so much out of each thread, so much is expected of ours.
const NEARLY_ALL: f64 = 0.95;
const MOST: f64 = 0.85;
/// Several threads may take so many times as long as one.
const SLOWER: f64 = 1.03;

impl Speedup {
    /// Our speed-up for that of the reference, which counts as the number of threads where it is more: there it is one thread that suffers. A
    /// processor that has learnt the branches of half of the data, say, runs half of it more than twice as fast.
    pub fn quotient(self, threads: usize) -> f64 {
        self.ours / self.reference.min(threads as f64)
    }

    /// The bars that do not hold.
    pub fn misses(self, threads: usize) -> Vec<String> {
        let mut missed = Vec::new();
        if self.quotient(threads) < SHARE {
            missed.push(format!("quotient below {SHARE}"));
        }
        let threads = threads as f64;
        if self.reference >= NEARLY_ALL * threads && self.ours < MOST * threads {
            missed.push(format!("speed-up below {:.1}", MOST * threads));
        }
        if 1.0 / self.ours > SLOWER {
            missed.push(format!("time above {SLOWER}"));
        }
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::Speedup;

    fn misses(reference: f64, ours: f64) -> Vec<String> {
        Speedup { reference, ours }.misses(2)
    }

    #[test]
    fn bars() {
        assert!(misses(1.95, 1.76).is_empty());
        assert!(misses(1.0, 0.98).is_empty());
        assert_eq!(misses(1.8, 1.6), ["quotient below 0.9"]);
        assert_eq!(misses(1.9, 1.69), ["quotient below 0.9", "speed-up below 1.7"]);
        assert_eq!(misses(0.9, 0.96), ["time above 1.03"]);
        assert!(misses(2.7, 1.9).is_empty());
        assert_eq!(misses(2.7, 1.75), ["quotient below 0.9"]);
    }
}
