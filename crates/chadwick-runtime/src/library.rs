//! A loaded program.

use crate::compiler::{Compiler, CompilerError};
use crate::failure::{self, Failure};
use crate::{Cache, Options, decode, stack};
use chadwick_codegen::{Config, Generated, Site, SiteKind};
use chadwick_core::{Element, Prim, Program, Type, element_count};
use chadwick_interp::{Buffer, Data, ErrorKind, Limits, RuntimeError, Value};
use chadwick_source::Span;
use libloading::Library;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// What native code takes and gives: see `rts/runtime.h`.
#[repr(C)]
struct RawValue {
    data: *mut c_void,
    shape: *mut i64,
    scalar: u64,
}

#[repr(C)]
struct RawError {
    code: i32,
    values_count: i32,
    sites_count: i32,
    sites: [i32; 64],
    values: [i64; 64],
}

#[repr(C)]
struct RawHost {
    special: extern "C" fn(u32, f64) -> f64,
    trace: Option<extern "C" fn(*mut c_void, i32, *const u8, i64)>,
    data: *mut c_void,
}

type Context = *mut c_void;

/// The functions of `rts/context.c`.
struct Functions {
    close: unsafe extern "C" fn(Context),
    reset: unsafe extern "C" fn(Context),
    set_host: unsafe extern "C" fn(Context, *const RawHost),
    set_limits: unsafe extern "C" fn(Context, i64, i64, i64, *mut u8),
    set_threads: unsafe extern "C" fn(Context, i32),
    last_error: unsafe extern "C" fn(Context) -> *const RawError,
    stream: unsafe extern "C" fn(Context, *mut i64) -> *const u8,
    peak: unsafe extern "C" fn(Context) -> i64,
    call: unsafe extern "C" fn(Context, i32, *const RawValue, *mut RawValue) -> i32,
}

type TraceSink = Box<dyn FnMut(&str, &[Value])>;

/// A program in native code. The C compiler runs when the code is first wanted.
pub struct NativeProgram {
    program: Rc<Program>,
    generated: Generated,
    options: Options,
    cache: Cache,
    trace: Option<TraceSink>,
    loaded: Option<Loaded>,
}

/// Code in memory, with the memory it runs in.
struct Loaded {
    context: Context,
    functions: Functions,
    /// Last, so that it goes when nothing of it is used any more.
    library: Library,
}

/// What profiled code did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Blocks of memory that were asked for, and their bytes.
    pub allocations: u64,
    pub allocated_bytes: u64,
    /// Source lines with their numbers in front, before which there is the name of the file if that is not the program's, and how long
    /// they took.
    pub lines: Vec<(String, Duration)>,
}

/// A scalar, or the elements of a row-major array, that native code may read during a call.
pub struct Argument<'a> {
    prim: Prim,
    shape: Vec<i64>,
    data: *const c_void,
    lifetime: PhantomData<&'a ()>,
}

impl<'a> Argument<'a> {
    /// `None` where the elements do not fit the shape.
    pub fn new<T: Scalar>(shape: &[usize], elements: &'a [T]) -> Option<Argument<'a>> {
        if element_count(shape) != Some(elements.len()) {
            return None;
        }
        let shape = shape.iter().map(|dim| i64::try_from(*dim).ok()).collect::<Option<Vec<i64>>>()?;
        Some(Argument { prim: T::PRIM, shape, data: elements.as_ptr().cast(), lifetime: PhantomData })
    }
}

/// Rust types that are scalars of the language, with the same layout.
pub trait Scalar: Copy {
    const PRIM: Prim;
}

macro_rules! scalars {
    ($($type:ty => $prim:ident),*) => {
        $(impl Scalar for $type {
            const PRIM: Prim = Prim::$prim;
        })*
    };
}

scalars!(bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64);
scalars!(half::f16 => F16, f32 => F32, f64 => F64);

/// A result: flat data, or a value with sums inside.
pub enum Output {
    Data(Data),
    Value(Value),
}

/// What a trace callback finds behind its pointer.
struct Listener<'a> {
    sink: Option<&'a mut TraceSink>,
    sites: &'a [Site],
    program: &'a Program,
}

extern "C" fn special(operation: u32, x: f64) -> f64 {
    let operation = chadwick_codegen::special_operation(operation);
    let value = operation.map(|op| chadwick_core::prim::eval_unary(op, chadwick_core::Const::F64(x)));
    match value {
        Some(Ok(chadwick_core::Const::F64(value))) => value,
        _ => f64::NAN,
    }
}

#[expect(unsafe_code, reason = "called by native code with our own pointer")]
extern "C" fn trace(data: *mut c_void, site: i32, bytes: *const u8, count: i64) {
    // SAFETY: `data` is the listener that lives on the stack of the call that is running.
    let listener = unsafe { &mut *data.cast::<Listener<'_>>() };
    // SAFETY: native code passes the bytes of its stream; there may be none.
    let bytes = unsafe { bytes_of(bytes, count) };
    let site = usize::try_from(site).ok().and_then(|site| listener.sites.get(site));
    let (Some(sink), Some(Site { kind: SiteKind::Trace(tag, types), .. })) = (&mut listener.sink, site) else { return };
    let mut reader = decode::Reader::new(bytes, listener.program);
    let values: Option<Vec<Value>> = types.iter().map(|ty| reader.value(ty)).collect();
    if let Some(values) = values {
        sink(tag, &values);
    }
}

#[expect(unsafe_code, reason = "memory of native code")]
/// # Safety
/// The pointer is null or has so many bytes behind it.
unsafe fn bytes_of<'a>(bytes: *const u8, count: i64) -> &'a [u8] {
    match (bytes.is_null(), usize::try_from(count)) {
        // SAFETY: as promised.
        (false, Ok(count)) => unsafe { std::slice::from_raw_parts(bytes, count) },
        _ => &[],
    }
}

impl NativeProgram {
    /// The C text of a program of first-order Core.
    pub fn generate(program: Rc<Program>, options: Options, cache: Cache, config: &Config<'_>) -> NativeProgram {
        let generated = chadwick_codegen::generate(&program, config);
        NativeProgram { program, generated, options, cache, trace: None, loaded: None }
    }

    /// Compiles and loads the code unless that has been done; `observe` hears how long each step takes.
    pub fn prepare(&mut self, observe: &mut dyn FnMut(&str, Duration)) -> Result<(), CompilerError> {
        if self.loaded.is_some() {
            return Ok(());
        }
        let started = Instant::now();
        let compiler = Compiler::find()?;
        let path = compiler.shared_object(&self.generated.c, self.options, &self.cache)?;
        observe("C compiler", started.elapsed());
        let started = Instant::now();
        let mut loaded = Loaded::new(&path, self.options.threads);
        self.cache.release(&path);
        if loaded.is_err() {
            // The system may refuse to run what is in the cache's directory, or somebody has just removed it.
            let path = compiler.shared_object(&self.generated.c, self.options, &self.cache.clone().without_libraries())?;
            loaded = Loaded::new(&path, self.options.threads);
            self.cache.release(&path);
        }
        self.loaded = Some(loaded?);
        observe("loading", started.elapsed());
        Ok(())
    }

    /// What code that was compiled to tell it did in all calls so far.
    #[expect(unsafe_code, reason = "asks native code")]
    pub fn profile(&self) -> Option<Profile> {
        let lines = &self.generated.lines;
        let loaded = self.loaded.as_ref()?;
        // SAFETY: `rts/context.c` defines the function with this type.
        let profile: libloading::Symbol<'_, unsafe extern "C" fn(Context, *mut i64)> =
            unsafe { loaded.library.get(b"cw_profile\0") }.ok()?;
        let mut numbers = vec![0i64; lines.len() + 2];
        // SAFETY: the context is open, and there is room for two numbers and one for each line.
        unsafe { profile(loaded.context, numbers.as_mut_ptr()) };
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        let times = lines.iter().zip(numbers.iter().skip(2)).skip(1);
        Some(Profile {
            allocations: count(numbers[0]),
            allocated_bytes: count(numbers[1]),
            lines: times.map(|(line, time)| (line.clone(), Duration::from_nanos(count(*time)))).collect(),
        })
    }

    /// The C text, as one file.
    pub fn c_text(&self) -> String {
        self.generated.c.whole()
    }

    /// The most bytes that values took up at one time in the last call.
    #[expect(unsafe_code, reason = "asks native code")]
    pub fn peak_bytes(&self) -> usize {
        // SAFETY: the context is open.
        let peak = self.loaded.as_ref().map(|loaded| unsafe { (loaded.functions.peak)(loaded.context) });
        peak.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0)
    }

    /// Where `trace` goes: the tag and the values.
    pub fn set_trace(&mut self, sink: impl FnMut(&str, &[Value]) + 'static) {
        self.trace = Some(Box::new(sink));
    }

    /// Calls an entry point of a prepared program by its number, once and then as often as `next` says, until that is not at all. The
    /// arguments have the types of its parameters. It hears how long native code took for all calls since it was asked last, without the
    /// ways there and back. Time limits are those of one call. The results are those of the last call.
    #[expect(unsafe_code, reason = "calls native code")]
    pub fn call_in_batches(
        &mut self,
        entry: usize,
        args: &[Argument<'_>],
        limits: &Limits,
        next: &mut dyn FnMut(Duration) -> usize,
    ) -> Result<Vec<Output>, RuntimeError> {
        let Some(Loaded { context, functions, .. }) = &self.loaded else { return Err(malformed("code that was not prepared")) };
        let Some(signature) = self.generated.entries.get(entry) else { return Err(malformed("no such entry point")) };
        if signature.params.len() != args.len() {
            return Err(malformed("a wrong number of arguments"));
        }
        let fits = signature.params.iter().zip(args).all(|(ty, arg)| fits(ty, arg));
        if !fits {
            return Err(malformed("an argument that does not have the type of its parameter"));
        }
        let raw_args: Vec<RawValue> = args.iter().map(raw).collect();
        let mut result_shapes: Vec<Vec<i64>> = signature.results.iter().map(|ty| vec![0; ty.rank()]).collect();
        let mut raw_results: Vec<RawValue> = result_shapes
            .iter_mut()
            .map(|shape| RawValue { data: std::ptr::null_mut(), shape: shape.as_mut_ptr(), scalar: 0 })
            .collect();
        let mut listener = Listener { sink: self.trace.as_mut(), sites: &self.generated.sites, program: &self.program };
        let host = RawHost { special, trace: Some(trace), data: std::ptr::from_mut(&mut listener).cast() };
        let bytes = i64::try_from(limits.max_memory_bytes).unwrap_or(i64::MAX).min(i64::MAX / 4);
        let depth = limits.max_depth.and_then(|depth| i64::try_from(depth).ok()).unwrap_or(i64::MAX / 4);
        let nanoseconds = limits.deadline.map_or(-1, |deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            i64::try_from(left.as_nanos()).unwrap_or(i64::MAX)
        });
        let (context, entry) = (*context, i32::try_from(entry).unwrap_or(-1));
        let is_data = |ty: &Type| match ty {
            Type::Prim(_) => true,
            Type::Array(array) => !matches!(array.element, Element::Boxed(_)),
            _ => false,
        };
        let writes_stream = !signature.results.iter().all(is_data);
        let mut calls = 1;
        let failed = loop {
            // SAFETY: arguments and results have the types of the signature, whose layout both sides know; the context is open; native
            // code does not unwind and keeps no pointer to the arguments. Nothing of a call but the last is used.
            let (failed, taken) =
                stack::on_large_stack(limits.max_memory_bytes, self.generated.recursive, |stack_limit| unsafe {
                    (functions.set_host)(context, &host);
                    (functions.set_limits)(context, bytes, nanoseconds, depth, stack_limit);
                    let started = Instant::now();
                    let mut failed = (functions.call)(context, entry, raw_args.as_ptr(), raw_results.as_mut_ptr());
                    for _ in 1..calls {
                        if failed != 0 {
                            break;
                        }
                        // Most calls that are short enough for batches take no memory; what they take is given back.
                        if writes_stream || (functions.peak)(context) > 0 {
                            (functions.reset)(context);
                        }
                        failed = (functions.call)(context, entry, raw_args.as_ptr(), raw_results.as_mut_ptr());
                    }
                    (failed, started.elapsed())
                });
            if failed != 0 {
                break failed;
            }
            calls = next(taken);
            if calls == 0 {
                break failed;
            }
            // SAFETY: nothing of this call is used any more.
            unsafe { (functions.reset)(context) };
        };
        let mut length = 0;
        // SAFETY: the context is open; what these return lives until the reset below.
        let (error, stream) = unsafe {
            let stream = (functions.stream)(context, &mut length);
            (&*(functions.last_error)(context), bytes_of(stream, length))
        };
        let result = match failed {
            0 => {
                // SAFETY: the results are complete, and their memory lives until the reset below.
                unsafe { read_results(&signature.results, &raw_results, &result_shapes, stream, &self.program) }
            }
            _ => {
                let prefix = |count: i32| usize::try_from(count).unwrap_or(0).min(64);
                let failure = Failure {
                    code: error.code,
                    values: &error.values[..prefix(error.values_count)],
                    sites: &error.sites[..prefix(error.sites_count)],
                    stream,
                };
                Err(failure::explain(&failure, &self.program, &self.generated.sites))
            }
        };
        // SAFETY: nothing of the run is used from here on.
        unsafe { (functions.reset)(context) };
        result
    }
}

impl Loaded {
    #[expect(unsafe_code, reason = "loads code that we generated")]
    fn new(path: &std::path::Path, threads: usize) -> Result<Loaded, CompilerError> {
        let problem = |error: libloading::Error| {
            let reason = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            CompilerError::Io(format!("{}: {reason}", path.display()))
        };
        // SAFETY: the file is what the compiler made of our C text, which has no initialisers.
        let library = unsafe { Library::new(path) }.map_err(problem)?;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: `rts/context.c` defines the function with this type.
                *unsafe { library.get($name) }.map_err(problem)?
            };
        }
        let open: unsafe extern "C" fn() -> Context = function!(b"cw_open\0");
        let functions = Functions {
            close: function!(b"cw_close\0"),
            reset: function!(b"cw_reset\0"),
            set_host: function!(b"cw_set_host\0"),
            set_limits: function!(b"cw_set_limits\0"),
            set_threads: function!(b"cw_set_threads\0"),
            last_error: function!(b"cw_last_error\0"),
            stream: function!(b"cw_stream\0"),
            peak: function!(b"cw_peak\0"),
            call: function!(b"cw_call\0"),
        };
        // SAFETY: has no conditions.
        let context = unsafe { open() };
        if context.is_null() {
            return Err(CompilerError::Io(String::from("no memory for native code")));
        }
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get),
            threads => threads,
        };
        // SAFETY: the context is open, and nothing runs in it.
        unsafe { (functions.set_threads)(context, i32::try_from(threads).unwrap_or(i32::MAX)) };
        Ok(Loaded { context, functions, library })
    }
}

impl Drop for Loaded {
    #[expect(unsafe_code, reason = "closes the context")]
    fn drop(&mut self) {
        // SAFETY: the context is open, and nobody uses it after this.
        unsafe { (self.functions.close)(self.context) };
    }
}

fn malformed(message: &str) -> RuntimeError {
    RuntimeError { kind: ErrorKind::Malformed, message: message.to_owned(), span: Span::default(), trace: Vec::new() }
}

fn fits(ty: &Type, arg: &Argument<'_>) -> bool {
    match ty {
        Type::Prim(prim) => arg.shape.is_empty() && arg.prim == *prim,
        Type::Array(array) => array.element == Element::Prim(arg.prim) && arg.shape.len() == array.dims.len(),
        _ => false,
    }
}

/// An argument for native code, which only reads it.
#[expect(unsafe_code, reason = "the bits of a scalar")]
fn raw(arg: &Argument<'_>) -> RawValue {
    let mut scalar = 0u64;
    if arg.shape.is_empty() {
        // SAFETY: an argument without dimensions has one element of so many bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(arg.data.cast::<u8>(), std::ptr::from_mut(&mut scalar).cast::<u8>(), arg.prim.bytes())
        };
    }
    RawValue { data: arg.data.cast_mut(), shape: arg.shape.as_ptr().cast_mut(), scalar }
}

#[expect(unsafe_code, reason = "reads results of native code")]
/// # Safety
/// The results are what native code gave for these types, and their memory is still there.
unsafe fn read_results(
    types: &[Type],
    results: &[RawValue],
    shapes: &[Vec<i64>],
    stream: &[u8],
    program: &Program,
) -> Result<Vec<Output>, RuntimeError> {
    let mut reader = decode::Reader::new(stream, program);
    let mut values = Vec::new();
    for ((ty, result), shape) in types.iter().zip(results).zip(shapes) {
        let value = match ty {
            Type::Prim(prim) => {
                let bytes = result.scalar.to_le_bytes();
                Some(Output::Data(Data { shape: Vec::new(), elements: decode::elements(*prim, &bytes[..prim.bytes()]) }))
            }
            Type::Array(array) => {
                let count = element_count(shape).ok_or_else(|| malformed("a result with more elements than can be counted"))?;
                match &array.element {
                    Element::Prim(prim) => {
                        // SAFETY: the pointer leads to so many elements.
                        let elements = unsafe { copy_elements(*prim, result.data, count) };
                        Some(Output::Data(Data { shape: shape.clone(), elements }))
                    }
                    Element::Unit => Some(Output::Data(Data { shape: shape.clone(), elements: Buffer::Unit(count) })),
                    Element::Boxed(_) => reader.value(ty).map(Output::Value),
                }
            }
            _ => reader.value(ty).map(Output::Value),
        };
        values.push(value.ok_or_else(|| malformed("a result that cannot be read"))?);
    }
    Ok(values)
}

#[expect(unsafe_code, reason = "reads results of native code")]
/// # Safety
/// The pointer leads to so many elements of the type.
unsafe fn copy_elements(prim: Prim, data: *const c_void, count: usize) -> Buffer {
    macro_rules! copied {
        ($variant:ident, $type:ty) => {
            Buffer::$variant(match count {
                0 => Vec::new(),
                // SAFETY: as promised; every pattern of bits is a number, and native code writes only 0 and 1 as booleans.
                count => unsafe { std::slice::from_raw_parts(data.cast::<$type>(), count) }.to_vec(),
            })
        };
    }
    match prim {
        Prim::Bool => copied!(Bool, bool),
        Prim::I8 => copied!(I8, i8),
        Prim::I16 => copied!(I16, i16),
        Prim::I32 => copied!(I32, i32),
        Prim::I64 => copied!(I64, i64),
        Prim::U8 => copied!(U8, u8),
        Prim::U16 => copied!(U16, u16),
        Prim::U32 => copied!(U32, u32),
        Prim::U64 => copied!(U64, u64),
        Prim::F16 => copied!(F16, half::f16),
        Prim::F32 => copied!(F32, f32),
        Prim::F64 => copied!(F64, f64),
    }
}
