//! Chadwick: programs in a functional array language, compiled and differentiated.

pub mod compile;
