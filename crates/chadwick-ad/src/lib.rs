//! Derivatives as Core: a program with derivative operators goes in, one without comes out.

mod activity;

pub use activity::check_derivatives;
