//! The cache of compiled code: each thing is made once, failures leave nothing, old files go.

use chadwick_runtime::{Cache, CompilerError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn directory(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn files(directory: &PathBuf) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(directory).expect("the directory exists").map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.metadata().map_or(0, |data| data.len())))
        .collect()
}

#[test]
fn what_many_want_at_once_is_made_once() {
    let directory = directory("made_once");
    let cache = Cache::new(&directory, 1 << 20);
    let made = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let path = cache.library(&["text", "flags"], |_, target| {
                    made.fetch_add(1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(50));
                    std::fs::write(target, "code").map_err(|error| CompilerError::Io(error.to_string()))
                });
                assert!(std::fs::read(path.expect("a file")).expect("a text").starts_with(b"code"));
            });
        }
    });
    assert_eq!(made.load(Ordering::SeqCst), 1);
    assert_eq!(files(&directory).len(), 1);
    // Other text, or the same with other flags, is something else.
    let other = cache.library(&["textflags", ""], |_, _| Err(CompilerError::Io(String::from("asked for"))));
    assert!(matches!(other, Err(CompilerError::Io(message)) if message == "asked for"));
    assert_eq!(files(&directory).len(), 1, "a failure leaves nothing behind");
}

#[test]
fn what_was_changed_is_made_again() {
    let directory = directory("sealed");
    let cache = Cache::new(&directory, 1 << 20);
    let made = AtomicUsize::new(0);
    let get = |text: &str| {
        let path = cache.library(&[text], |_, target| {
            made.fetch_add(1, Ordering::SeqCst);
            std::fs::write(target, format!("code of {text}")).map_err(|error| CompilerError::Io(error.to_string()))
        });
        path.expect("a file")
    };
    let (path, other) = (get("one"), get("other"));
    let good = std::fs::read(&path).expect("a file");
    let flipped = [&[good[0] ^ 1], &good[1..]].concat();
    let damages: [&[u8]; 4] = [b"", &good[..good.len() - 1], &flipped, &std::fs::read(&other).expect("a file")];
    for (at, damage) in damages.into_iter().enumerate() {
        std::fs::write(&path, damage).expect("a file");
        assert_eq!(std::fs::read(get("one")).expect("a file"), good);
        assert_eq!(made.load(Ordering::SeqCst), 3 + at);
    }
    get("one");
    assert_eq!(made.load(Ordering::SeqCst), 6, "nothing was changed");
}

#[test]
fn what_was_not_used_for_longest_goes() {
    let directory = directory("shrinks");
    let cache = Cache::new(&directory, 20_000);
    // What a process left behind that ended long ago, and what is somebody else's.
    std::fs::create_dir_all(&directory).expect("a directory");
    let (left_behind, others) = (directory.join(format!("{}.1.2", "0a".repeat(20))), ["notes.txt", "other.so"]);
    std::fs::create_dir(&left_behind).expect("a directory");
    for path in others.iter().map(|name| directory.join(name)).chain([left_behind.join("program0.c")]) {
        std::fs::write(path, vec![0u8; 30_000]).expect("a file");
    }
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(1 << 20);
    for path in others.iter().map(|name| directory.join(name)).chain([left_behind.clone()]) {
        std::fs::File::open(path).and_then(|file| file.set_modified(long_ago)).expect("a time");
    }
    for number in 0..200 {
        let text = number.to_string();
        let path = cache.library(&[&text], |_, target| {
            std::fs::write(target, vec![0u8; 1000]).map_err(|error| CompilerError::Io(error.to_string()))
        });
        assert!(path.expect("a file").exists());
    }
    assert!(!left_behind.exists());
    let is_other = |name: &str| others.contains(&name);
    assert_eq!(files(&directory).iter().filter(|(name, _)| is_other(name)).count(), 2, "what is not ours stays");
    let left: u64 = files(&directory).iter().filter(|(name, _)| !is_other(name)).map(|(_, size)| size).sum();
    // It looks at the size now and then, not every time.
    assert!(left <= 20_000 + 65_000, "{left}");
}

#[test]
fn objects_are_kept_where_libraries_are_not() {
    let directory = directory("objects");
    let made = AtomicUsize::new(0);
    let object = |cache: &Cache| {
        let make = |workplace: &std::path::Path, target: &std::path::Path| {
            made.fetch_add(1, Ordering::SeqCst);
            assert!(workplace.is_dir());
            std::fs::write(target, "object").map_err(|error| CompilerError::Io(error.to_string()))
        };
        assert_eq!(cache.object(&["text"], make).expect("an object"), b"object");
    };
    let cache = Cache::new(&directory, 1 << 20).without_libraries();
    object(&cache);
    object(&cache);
    assert_eq!(made.load(Ordering::SeqCst), 1);
    let kept: Vec<(String, u64)> = files(&directory);
    assert_eq!(kept.len(), 1, "{kept:?}");
    // What was damaged is made again.
    std::fs::write(directory.join(&kept[0].0), "damaged").expect("a file");
    object(&cache);
    assert_eq!(made.load(Ordering::SeqCst), 2);
    let library = cache
        .library(&["text"], |_, target| std::fs::write(target, "library").map_err(|error| CompilerError::Io(error.to_string())));
    let library = library.expect("a library");
    assert!(library.exists() && !library.starts_with(&directory));
    cache.release(&library);
    assert!(!library.exists());
    assert_eq!(files(&directory).len(), 1);
    // Without any room nothing is kept, and everything is there all the same.
    let none = Cache::new(directory.join("none"), 0);
    object(&none);
    object(&none);
    assert_eq!(made.load(Ordering::SeqCst), 4);
    assert!(!directory.join("none").exists());
}

#[test]
fn what_cannot_be_made_in_the_directory_is_made_elsewhere() {
    let directory = directory("full");
    let cache = Cache::new(&directory, 1 << 20);
    let make = |_: &std::path::Path, target: &std::path::Path| match target.starts_with(&directory) {
        true => Err(CompilerError::Io(String::from("no space left on device"))),
        false => std::fs::write(target, "code").map_err(|error| CompilerError::Io(error.to_string())),
    };
    let path = cache.library(&["text"], make).expect("a file");
    assert!(path.exists() && !path.starts_with(&directory));
    cache.release(&path);
    assert_eq!(cache.object(&["text"], make).expect("an object"), b"code");
    assert_eq!(files(&directory).len(), 0);
}
