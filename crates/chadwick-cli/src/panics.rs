//! Panics as values: a bug of ours fails one test or one command, with a message, and nothing else.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps what a panic says for [`caught`] instead of printing it.
pub fn install() {
    panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let message = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
            (Some(text), _) => (*text).to_owned(),
            (_, Some(text)) => text.clone(),
            _ => String::from("a panic"),
        };
        let place = info.location().map(|location| format!(" ({location})")).unwrap_or_default();
        let _ = LAST.try_with(|last| *last.borrow_mut() = Some(format!("{message}{place}")));
    }));
}

/// The result of the work, or what its panic said.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(work))
        .map_err(|_| LAST.with(|last| last.borrow_mut().take()).unwrap_or_else(|| String::from("a panic")))
}
