//! Input that would be too much: files larger than their values may be, and sources that never end.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn scratch(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("bounds-{name}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a directory");
    path
}

/// Runs the command in an address space of so many kibibytes, half a gibibyte of which are reserved for the stack.
fn run_within(kibibytes: usize, directory: &Path, arguments: &[&str]) -> Output {
    Command::new("sh")
        .args(["-c", &format!("ulimit -v {kibibytes}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_chadwick")])
        .args(arguments)
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .output()
        .expect("the shell starts")
}

#[track_caller]
fn assert_ends(output: &Output, code: i32, message: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(stderr.contains(message), "{stderr}");
}

fn packed(path: &Path, start: &[u8], repeated: &[u8], times: usize, end: &[u8]) {
    let file = std::fs::File::create(path).expect("a file");
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    encoder.write_all(start).expect("a written file");
    let block = repeated.repeat(1 << 12);
    (0..times >> 12).for_each(|_| encoder.write_all(&block).expect("a written file"));
    encoder.write_all(end).expect("a written file");
    encoder.finish().expect("a written file");
}

#[test]
fn data_is_not_unpacked_beyond_the_limit_of_memory() {
    let directory = scratch("unpacked");
    std::fs::write(directory.join("main.fut"), "entry main (xs: []f64) = length xs").expect("a file");
    let numbers = 1 << 27;
    packed(&directory.join("text.gz"), b"[", b"1.0,", numbers, b"1.0]");
    packed(&directory.join("numbers.json.gz"), b"[", b"1.0,", numbers, b"1.0]");
    packed(&directory.join("binary.gz"), b"b\x02\x01 f64\0\0\0\x08\0\0\0\0", &[0; 8], numbers, b"");
    for file in ["text.gz", "numbers.json.gz", "binary.gz"] {
        let arguments = ["run", "--backend", "interp", "--max-memory", "1M", "main.fut", "--input", file];
        assert_ends(&run_within(800_000, &directory, &arguments), 1, "more data than 1048576 bytes of values can need");
    }
}

#[test]
fn a_json_document_of_many_small_numbers_is_measured_before_it_is_read() {
    let directory = scratch("json");
    std::fs::write(directory.join("main.fut"), "entry main (xs: []f64) = length xs").expect("a file");
    let document = format!("[{}1]", "1,".repeat(4_000_000));
    std::fs::write(directory.join("numbers.json"), document).expect("a file");
    let arguments = ["run", "--backend", "interp", "--max-memory", "1M", "main.fut", "--input", "numbers.json"];
    assert_ends(&run_within(750_000, &directory, &arguments), 1, "the values take up more memory than the 1048576 bytes");
}

#[test]
fn a_pipe_or_a_device_is_no_program() {
    let directory = scratch("pipe");
    assert!(Command::new("mkfifo").arg(directory.join("pipe")).status().expect("mkfifo").success());
    std::fs::write(directory.join("imports.fut"), "import \"device\"\nentry main = 1i32").expect("a file");
    std::os::unix::fs::symlink("/dev/zero", directory.join("device.fut")).expect("a link");
    for file in ["pipe", "/dev/zero", "imports.fut", "."] {
        assert_ends(&run_within(800_000, &directory, &["check", file]), 1, "a program is read from a file, and this is none");
    }
}

#[test]
fn where_nothing_can_be_kept_native_code_still_runs() {
    let directory = scratch("cache");
    std::fs::write(directory.join("main.fut"), "entry main (x: i32) = x + 1").expect("a file");
    let temporary = directory.join("temporary");
    std::fs::create_dir(&temporary).expect("a directory");
    let output = Command::new(env!("CARGO_BIN_EXE_chadwick"))
        .args(["run", "--backend", "native", "main.fut", "41"])
        .current_dir(&directory)
        .env("CHADWICK_CACHE_DIR", "/dev/null/cache")
        .env("TMPDIR", &temporary)
        .output()
        .expect("the binary starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "42i32\n", "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_dir(&temporary).expect("a directory").count(), 0, "nothing is left behind");
}

#[test]
fn too_few_or_too_many_arguments_are_wrong_usage() {
    let directory = scratch("usage");
    std::fs::write(directory.join("one.fut"), "entry main (x: f64) = x * x").expect("a file");
    std::fs::write(directory.join("two.fut"), "entry main (x: f64) (y: f64) = x * y").expect("a file");
    let run = |arguments: &[&str]| run_within(2_000_000, &directory, arguments);
    assert_ends(&run(&["run", "one.fut", "1", "2"]), 2, "`main` takes 1 value, but 2 were given");
    assert_ends(&run(&["grad", "two.fut", "1"]), 2, "there is no value for parameter `y`");
    assert_ends(&run(&["run", "two.fut", "x=1", "z=1"]), 2, "`main` has no parameter `z`");
}

#[test]
fn parts_of_a_record_have_the_names_of_its_fields() {
    let directory = scratch("record");
    let program = "entry main (p: {x: f64, at: (f64, {z: f64})}) = p.x * p.at.0 + p.at.1.z";
    std::fs::write(directory.join("main.fut"), program).expect("a file");
    let run = |arguments: &[&str]| run_within(2_000_000, &directory, arguments);
    let gradient = run(&["grad", "main.fut", "p.x=2", "p.at.0=3", "p.at.1.z=4"]);
    let expected = "value = 10.0f64\ngradient.p.at.0 = 2.0f64\ngradient.p.at.1.z = 1.0f64\ngradient.p.x = 3.0f64\n";
    assert_eq!(String::from_utf8_lossy(&gradient.stdout), expected, "{}", String::from_utf8_lossy(&gradient.stderr));
    let one = run(&["grad", "main.fut", "--wrt", "p.x", "3", "4", "2"]);
    assert!(String::from_utf8_lossy(&one.stdout).contains("gradient.p.x = 3.0f64"), "{}", String::from_utf8_lossy(&one.stderr));
    assert_ends(&run(&["run", "main.fut", "3", "4", "2i32"]), 1, "its component `x` has type f64");
}
