//! Core to Core: what prepares a program for an engine or a back end.

mod defunctionalise;

pub use defunctionalise::defunctionalise;
