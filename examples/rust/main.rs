//! Calls the library of examples/linear_regression.fut from Rust:
//!
//! ```text
//! chadwick build examples/linear_regression.fut --grad loss:slope,offset --kind static -o build/
//! rustc --edition 2024 -L build -l static=linear_regression examples/rust/main.rs -o build/main
//! build/main
//! ```
//!
//! A program that has the crate `chadwick` needs none of this: there a function is called, and differentiated, by its name. This is how a
//! program gets on without it.

use std::ffi::{CStr, c_char, c_int};

/// What `build/linear_regression.h` declares.
mod library {
    use super::*;

    #[repr(C)]
    pub struct Context {
        _private: [u8; 0],
    }

    unsafe extern "C" {
        pub fn chadwick_context_new() -> *mut Context;
        pub fn chadwick_context_free(context: *mut Context);
        pub fn chadwick_error(context: *mut Context) -> *const c_char;
        pub fn chadwick_gradient_loss_by_slope_offset(
            context: *mut Context,
            xs: *const f64,
            xs_shape: *const i64,
            ys: *const f64,
            ys_shape: *const i64,
            slope: f64,
            offset: f64,
            value: *mut f64,
            gradient_slope: *mut f64,
            gradient_offset: *mut f64,
        ) -> c_int;
    }
}

/// A context that closes itself.
struct Model(*mut library::Context);

impl Model {
    fn open() -> Option<Model> {
        // SAFETY: has no conditions.
        let context = unsafe { library::chadwick_context_new() };
        (!context.is_null()).then_some(Model(context))
    }

    /// The loss, and its derivatives by slope and offset.
    fn gradient(&mut self, xs: &[f64], ys: &[f64], slope: f64, offset: f64) -> Result<(f64, [f64; 2]), String> {
        let (mut value, mut by_slope, mut by_offset) = (0.0, 0.0, 0.0);
        let (xs_shape, ys_shape) = ([xs.len() as i64], [ys.len() as i64]);
        // SAFETY: the context is open, and every pointer leads to as many numbers as the sizes beside it say.
        let failed = unsafe {
            library::chadwick_gradient_loss_by_slope_offset(
                self.0,
                xs.as_ptr(),
                xs_shape.as_ptr(),
                ys.as_ptr(),
                ys_shape.as_ptr(),
                slope,
                offset,
                &mut value,
                &mut by_slope,
                &mut by_offset,
            )
        };
        match failed {
            0 => Ok((value, [by_slope, by_offset])),
            // SAFETY: the text is there until the next call.
            _ => Err(unsafe { CStr::from_ptr(library::chadwick_error(self.0)) }.to_string_lossy().into_owned()),
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: the context is open, and nobody uses it after this.
        unsafe { library::chadwick_context_free(self.0) };
    }
}

fn main() -> Result<(), String> {
    let mut model = Model::open().ok_or("no memory")?;
    let xs = [0.0, 1.0, 2.0, 3.0];
    let ys = [1.0, 3.0, 5.0, 7.0];
    let (mut slope, mut offset, mut loss) = (0.0, 0.0, 0.0);
    for _ in 0..500 {
        let (value, [by_slope, by_offset]) = model.gradient(&xs, &ys, slope, offset)?;
        loss = value;
        slope -= 0.1 * by_slope;
        offset -= 0.1 * by_offset;
    }
    println!("y = {slope:.4} x + {offset:.4}, loss {loss:.1e}");
    if let Err(problem) = model.gradient(&xs, &ys[1..], slope, offset) {
        println!("{problem}");
    }
    Ok(())
}
