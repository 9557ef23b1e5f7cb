//! How often to run, and what the times say.
//!
//! Times of a program have a long tail, so it is the median that is reported. Its confidence interval needs no assumption about how times
//! are distributed: the ranks around the middle are binomial, and 95 % of that is within 0.98 √n ranks.
//!
//! Runs that are short beside what it takes to read the clock are timed many at once: a time is then that of all, divided by their number.

use std::time::{Duration, Instant};

/// How wide the interval may be, to each side and relative to the median.
const WANTED: f64 = 0.02;

const FEWEST: usize = 10;

/// From the least to the largest of five times is no interval for 95 % yet: the median is outside of that in 2 of 32 cases.
const FEWEST_FOR_INTERVAL: usize = 6;

const MOST: usize = 100_000;

/// How long to warm up, if there is time for more than one run.
const WARM_UP: Duration = Duration::from_millis(100);

/// How long to run between two looks at the clock, at least. A look takes some 30 ns, and clocks go in steps of up to 100 ns.
const BATCH: Duration = Duration::from_micros(20);

const MOST_IN_BATCH: usize = 1 << 20;

/// What a number of times say, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    pub median: f64,
    /// Half the confidence interval, relative to the median; nothing where there are too few times for one.
    pub deviation: Option<f64>,
    pub repetitions: usize,
    /// How many runs were timed at once for each of these.
    pub batch: usize,
    /// Whether the interval is as narrow as it should be.
    pub converged: bool,
}

impl Statistics {
    pub fn of(times: &[f64]) -> Option<Statistics> {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let last = count.checked_sub(1)?;
        let median = (sorted[last / 2] + sorted[count / 2]) / 2.0;
        let (middle, ranks) = (count as f64 / 2.0, 0.98 * (count as f64).sqrt());
        let low = sorted[((middle - ranks).floor().max(1.0) as usize - 1).min(last)];
        let high = sorted[((middle + ranks + 1.0).ceil() as usize - 1).min(last)];
        let deviation = (count >= FEWEST_FOR_INTERVAL && median > 0.0).then(|| (high - low) / 2.0 / median);
        let converged = count >= FEWEST && deviation.is_some_and(|deviation| deviation <= WANTED);
        Some(Statistics { median, deviation, repetitions: count, batch: 1, converged })
    }
}

/// Collects times until there are enough.
pub struct Collector {
    limit: Duration,
    /// How long a batch should take, at least.
    batch_time: Duration,
    /// How many runs the next time is of.
    batch: usize,
    runs: u64,
    /// When the first run started: what comes before it, as compiling, does not count.
    started: Option<Instant>,
    warm: bool,
    times: Vec<f64>,
    next_look: usize,
}

impl Collector {
    /// For so much time. The time that a run may take is kept by native code for a batch as a whole.
    pub fn new(limit: Duration, timeout: Option<Duration>) -> Collector {
        let batch_time = timeout.map_or(BATCH, |timeout| BATCH.min(timeout / 10));
        Collector { limit, batch_time, batch: 1, runs: 0, started: None, warm: false, times: Vec::new(), next_look: FEWEST }
    }

    /// Takes note of the time of a batch of runs, the first of which is one; how many should be in the next one.
    pub fn next_batch(&mut self, time: Duration) -> usize {
        self.runs += self.batch as u64;
        if self.again(time) { self.batch } else { 0 }
    }

    fn again(&mut self, time: Duration) -> bool {
        let one = time.as_secs_f64() / self.batch as f64;
        let elapsed = match self.started {
            Some(started) => started.elapsed(),
            None => {
                self.started = Instant::now().checked_sub(time);
                time
            }
        };
        if !self.warm {
            // The first run may be all that there is time for.
            if elapsed >= self.limit {
                self.times.push(one);
                return false;
            }
            let long_enough = time >= self.batch_time || self.batch >= MOST_IN_BATCH;
            // The first run takes longer than others: it does not tell how long a batch is.
            let is_first = self.runs <= 1;
            if !long_enough {
                self.batch *= 2;
            }
            self.warm = long_enough && elapsed >= WARM_UP.min(self.limit / 10) && (!is_first || time >= WARM_UP);
            return true;
        }
        self.times.push(one);
        if elapsed >= self.limit || self.times.len() >= MOST {
            return false;
        }
        if self.times.len() < self.next_look {
            return true;
        }
        self.next_look = self.times.len() + self.times.len() / 4 + 1;
        !Statistics::of(&self.times).is_some_and(|statistics| statistics.converged)
    }

    pub fn statistics(&self) -> Option<Statistics> {
        Statistics::of(&self.times).map(|statistics| Statistics { batch: self.batch, ..statistics })
    }

    /// How many runs there were, with those to warm up.
    pub fn runs(&self) -> u64 {
        self.runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_around_the_median() {
        let times: Vec<f64> = (1..=101).map(f64::from).collect();
        let statistics = Statistics::of(&times).expect("times");
        assert_eq!((statistics.median, statistics.repetitions), (51.0, 101));
        // The ranks 40 to 62.
        assert_eq!(statistics.deviation, Some((62.0 - 40.0) / 2.0 / 51.0));
        assert!(!statistics.converged);
        let even = Statistics::of(&[4.0, 2.0, 1.0, 3.0, 0.0, 5.0]).expect("times");
        assert_eq!((even.median, even.deviation), (2.5, Some(1.0)));
        let few = Statistics::of(&[2.0, 2.0]).expect("times");
        assert_eq!((few.median, few.deviation, few.converged), (2.0, None, false));
        assert_eq!(Statistics::of(&[]), None);
    }

    #[test]
    fn equal_times_are_enough_soon() {
        let mut collector = Collector::new(Duration::from_secs(3600), None);
        collector.warm = true;
        let runs = (1..).find(|_| collector.next_batch(Duration::from_millis(5)) == 0).expect("an end");
        let statistics = collector.statistics().expect("times");
        assert_eq!((runs, statistics.repetitions, statistics.converged), (FEWEST, FEWEST, true));
    }

    #[test]
    fn what_comes_before_the_first_run_does_not_count() {
        let mut collector = Collector::new(Duration::from_millis(20), None);
        std::thread::sleep(Duration::from_millis(25));
        assert!(collector.next_batch(Duration::from_nanos(1)) > 0);
    }

    #[test]
    fn short_runs_are_timed_many_at_once() {
        // The first run is a cold one.
        let mut collector = Collector::new(Duration::from_secs(3600), None);
        let mut batch = collector.next_batch(Duration::from_millis(50));
        assert_eq!(batch, 1);
        while !collector.warm {
            batch = collector.next_batch(Duration::from_nanos(30) * batch as u32);
        }
        assert_eq!(batch, 1024);
        while batch > 0 {
            batch = collector.next_batch(Duration::from_nanos(30) * 1024);
        }
        let statistics = collector.statistics().expect("times");
        assert!((statistics.median - 30e-9).abs() < 1e-15, "{statistics:?}");
        assert_eq!((statistics.batch, statistics.repetitions), (1024, FEWEST));
        // A batch should not be over the time that one run may take.
        let mut hurried = Collector::new(Duration::from_secs(3600), Some(Duration::from_micros(2)));
        assert_eq!(hurried.next_batch(Duration::from_nanos(250)), 1);
    }

    #[test]
    fn a_run_longer_than_the_limit_is_the_only_one() {
        let mut collector = Collector::new(Duration::ZERO, None);
        assert_eq!(collector.next_batch(Duration::from_secs(7)), 0);
        let statistics = collector.statistics().expect("times");
        assert_eq!((statistics.median, statistics.repetitions, statistics.converged), (7.0, 1, false));
    }
}
