//! How long an entry point takes in native code: `native_time [--threads N] [--engine NAME] FILE ENTRY [SHAPE…]`, where a shape is `1000x64` for an array of random
//! numbers and `=3` for a scalar.

use chadwick::values::{Prim, Value};
use chadwick::{Backend, NativeOptions, Program};
use std::time::Instant;

fn main() {
    if let Err(error) = run() {
        eprintln!("{error}");
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut options = NativeOptions { threads: 1, ..NativeOptions::default() };
    if let [flag, threads, ..] = arguments.as_slice()
        && flag == "--threads"
    {
        options.threads = threads.parse()?;
        arguments.drain(..2);
    }
    let mut engine = chadwick::compile::Engine::default();
    if let [flag, name, ..] = arguments.as_slice()
        && flag == "--engine"
    {
        engine = chadwick::compile::Engine::from_name(name).ok_or("no such engine")?;
        arguments.drain(..2);
    }
    let [file, entry, shapes @ ..] = arguments.as_slice() else {
        return Err("[--threads N] [--engine NAME] FILE ENTRY [SHAPE…]".into());
    };
    let program = Program::from_file(file)?;
    let started = Instant::now();
    let native = program.with_engine(engine)?.with_backend(Backend::Native(options))?;
    println!("compiled in {:.0} ms", started.elapsed().as_secs_f64() * 1e3);
    let function = native.function(entry)?;
    let types = function.argument_types().ok_or("an argument that is no data")?;
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut values = Vec::new();
    for (shape, ty) in shapes.iter().zip(types) {
        let value: Value = match (shape.strip_prefix('='), ty.prim) {
            (Some(text), Prim::I64) => text.parse::<i64>()?.into(),
            (Some(text), Prim::F32) => text.parse::<f32>()?.into(),
            (Some(text), _) => text.parse::<f64>()?.into(),
            (None, prim) => {
                let dims: Vec<usize> = shape.split('x').map(str::parse).collect::<Result<_, _>>()?;
                let count = dims.iter().product();
                let made = match prim {
                    Prim::I64 => Value::new(dims, (0..count).map(|_| (random() * 100.0) as i64).collect::<Vec<i64>>()),
                    Prim::F32 => Value::new(dims, (0..count).map(|_| random() as f32).collect::<Vec<f32>>()),
                    _ => Value::new(dims, (0..count).map(|_| random() - 0.5).collect::<Vec<f64>>()),
                };
                made.ok_or("a shape that does not fit")?
            }
        };
        values.push(value);
    }
    let mut times: Vec<f64> = Vec::new();
    let begin = Instant::now();
    while times.len() < 5 || (begin.elapsed().as_secs_f64() < 1.0 && times.len() < 2000) {
        let started = Instant::now();
        function.call(&values)?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    println!("median {:.4} ms, best {:.4} ms of {}", times[times.len() / 2], times[0], times.len());
    Ok(())
}
