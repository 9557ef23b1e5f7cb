//! How many bytes the values of this thread hold.
//!
//! Values are not `Send`, so a counter per thread sees every allocation and every release. The machine compares it with its limit
//! before it allocates; the counter itself never refuses.

use std::cell::Cell;

thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

/// Bytes held by arrays, sums, closures, active scalars and tapes.
pub fn live_bytes() -> usize {
    LIVE.try_with(Cell::get).unwrap_or(0)
}

/// The most bytes that there were at one time since [`restart_peak`].
pub fn peak_bytes() -> usize {
    PEAK.try_with(Cell::get).unwrap_or(0)
}

/// Starts to look for a new peak from what there is now.
pub fn restart_peak() {
    let _ = PEAK.try_with(|peak| peak.set(live_bytes()));
}

pub fn acquire(bytes: usize) {
    // At thread exit the counter may be gone before the last value.
    let _ = LIVE.try_with(|live| {
        live.set(live.get().saturating_add(bytes));
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

pub fn release(bytes: usize) {
    let _ = LIVE.try_with(|live| live.set(live.get().saturating_sub(bytes)));
}
