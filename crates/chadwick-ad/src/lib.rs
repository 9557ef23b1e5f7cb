//! Derivatives as Core: a program with derivative operators goes in, one without comes out.

mod activity;
mod context;
mod expand;
mod flow;
mod forward;
mod reverse;

pub use activity::check_derivatives;
pub use expand::expand;
