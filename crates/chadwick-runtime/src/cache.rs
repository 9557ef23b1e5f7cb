//! Compiled code on disk, by a hash of what it was made from.
//!
//! A file appears under its name only when it is complete (it is renamed into place), so readers need no lock. Whoever makes one holds a
//! lock on a file beside it, so that two processes that want the same do the work once. A file ends with a hash of itself and its name: what a power cut or
//! somebody else has changed is made anew.

use crate::compiler::CompilerError;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// A directory of compiled code that is kept below a size: libraries, one for each program, and objects that many of them are linked with.
#[derive(Clone, Debug)]
pub struct Cache {
    directory: PathBuf,
    limit: u64,
    keeps_libraries: bool,
}

/// The endings of files that are kept.
const LIBRARY: &str = "so";
const OBJECT: &str = "o";

/// What a process left behind that ended while it made something, after so long.
const FORGOTTEN: Duration = Duration::from_secs(24 * 60 * 60);

const DEFAULT_LIMIT: u64 = 1 << 30;

/// How much of a hash is a key, which names of files begin with.
const KEY_BYTES: usize = 20;

/// Files that most processes add at most; how many are added between two looks at the size behind them.
const FIRST: u64 = 4;
const LOOK_EVERY: u64 = 64;

static ADDED: AtomicU64 = AtomicU64::new(0);

impl Cache {
    pub fn new(directory: impl Into<PathBuf>, limit: u64) -> Cache {
        Cache { directory: directory.into(), limit, keeps_libraries: true }
    }

    /// Keeps no libraries: they are made anew and used once.
    pub fn without_libraries(self) -> Cache {
        Cache { keeps_libraries: false, ..self }
    }

    /// `CHADWICK_CACHE_DIR`, or a directory where the system keeps such things for the user; `CHADWICK_CACHE_LIMIT` bytes, or 1 GiB.
    pub fn standard() -> Cache {
        let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let directory = from("CHADWICK_CACHE_DIR")
            .or_else(|| from("XDG_CACHE_HOME").map(|path| path.join("chadwick")))
            .or_else(|| from("HOME").map(|path| path.join(".cache").join("chadwick")));
        let limit = std::env::var("CHADWICK_CACHE_LIMIT").ok().and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_LIMIT);
        match directory {
            Some(directory) => Cache::new(directory, limit),
            // Where others may write, too, nothing is kept.
            None => Cache::new(std::env::temp_dir().join("chadwick-cache"), 0),
        }
    }

    /// The library made from these texts; `make` gets a directory to work in and the path to write to.
    pub fn library(
        &self,
        made_from: &[&str],
        make: impl Fn(&Path, &Path) -> Result<(), CompilerError>,
    ) -> Result<PathBuf, CompilerError> {
        match self.keeps_libraries {
            true => self.get(&key(made_from), LIBRARY, make),
            false => make_once(&key(made_from), make),
        }
    }

    /// What is in the object made from these texts.
    pub fn object(
        &self,
        made_from: &[&str],
        make: impl Fn(&Path, &Path) -> Result<(), CompilerError>,
    ) -> Result<Vec<u8>, CompilerError> {
        let key = key(made_from);
        let path = self.get(&key, OBJECT, &make)?;
        if let Some(code) = read_whole(&path, &key) {
            return Ok(code);
        }
        // It is not kept, or was removed since.
        let path = if path.starts_with(&self.directory) { make_once(&key, &make)? } else { path };
        let code = fs::read(&path).map_err(|error| CompilerError::Io(format!("{}: {error}", path.display())));
        self.release(&path);
        code
    }

    fn get(
        &self,
        key: &str,
        ending: &str,
        make: impl Fn(&Path, &Path) -> Result<(), CompilerError>,
    ) -> Result<PathBuf, CompilerError> {
        if self.limit == 0 {
            return make_once(key, make);
        }
        let path = self.directory.join(format!("{key}.{ending}"));
        if path.is_dir() {
            return make_once(key, make);
        }
        if read_whole(&path, key).is_some() {
            return Ok(path);
        }
        let problem = |error: std::io::Error| CompilerError::Io(format!("{}: {error}", self.directory.display()));
        let lock_path = self.directory.join(format!("{key}.lock"));
        let locked = fs::create_dir_all(&self.directory).and_then(|()| File::create(&lock_path)).and_then(|lock| {
            lock.lock()?;
            Ok(lock)
        });
        // Where nothing can be kept, what is made is used once.
        let Ok(lock) = locked else { return make_once(key, make) };
        // Somebody else may have made it while we waited.
        if read_whole(&path, key).is_some() {
            return Ok(path);
        }
        let number = ADDED.fetch_add(1, Ordering::Relaxed);
        let unique = format!("{key}.{}.{number}", std::process::id());
        let workplace = self.directory.join(unique);
        let target = workplace.join("code");
        let made = fs::create_dir(&workplace).map_err(problem).and_then(|()| make(&workplace, &target));
        let result = made.and_then(|()| seal(&target, key).and_then(|()| fs::rename(&target, &path)).map_err(problem));
        let _ = fs::remove_dir_all(&workplace);
        let _ = fs::remove_file(&lock_path);
        drop(lock);
        if number < FIRST || number.is_multiple_of(LOOK_EVERY) {
            self.shrink(&path);
        }
        // The disk may be full.
        if result.is_err() { make_once(key, make) } else { Ok(path) }
    }

    /// Removes a file that [`Cache::library`] gave because it is needed now, but that is not kept.
    pub fn release(&self, path: &Path) {
        if !path.starts_with(&self.directory)
            && let Some(private) = path.parent()
        {
            let _ = fs::remove_dir_all(private);
        }
    }

    /// Removes the files that were not used for longest, until the rest fits, and what was left behind.
    fn shrink(&self, keep: &Path) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in entries.flatten() {
            let (path, Ok(data)) = (entry.path(), entry.metadata()) else { continue };
            // Somebody may keep other things in the same directory.
            if !is_name_of_ours(&entry.file_name().to_string_lossy()) {
                continue;
            }
            let Ok(modified) = data.modified() else { continue };
            let is_kept = path.extension().is_some_and(|ending| ending == LIBRARY || ending == OBJECT);
            let is_old = || modified.elapsed().is_ok_and(|age| age > FORGOTTEN);
            match is_kept {
                true => files.push((modified, data.len(), path)),
                false if is_old() && data.is_dir() => drop(fs::remove_dir_all(&path)),
                false if is_old() => drop(fs::remove_file(&path)),
                false => {}
            }
        }
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        files.sort();
        for (_, size, path) in files {
            if total <= self.limit {
                break;
            }
            if path != keep && fs::remove_file(&path).is_ok() {
                total = total.saturating_sub(size);
            }
        }
    }
}

/// What is in the file, if it is as it was made; marks it as used.
fn read_whole(path: &Path, key: &str) -> Option<Vec<u8>> {
    let file = File::open(path).ok()?;
    let mut content = Vec::new();
    (&file).read_to_end(&mut content).ok()?;
    let (code, found) = content.split_last_chunk()?;
    if *found != seal_of(code, key) {
        return None;
    }
    let length = code.len();
    content.truncate(length);
    let _ = file.set_modified(SystemTime::now());
    Some(content)
}

/// Puts a hash behind a library, where nobody who loads it looks.
fn seal(path: &Path, key: &str) -> std::io::Result<()> {
    let code = fs::read(path)?;
    File::options().append(true).open(path)?.write_all(&seal_of(&code, key))
}

fn seal_of(code: &[u8], key: &str) -> [u8; 32] {
    Sha256::new().chain_update(key).chain_update(code).finalize().into()
}

/// Makes the file in a new directory that only we can write to.
fn make_once(key: &str, make: impl FnOnce(&Path, &Path) -> Result<(), CompilerError>) -> Result<PathBuf, CompilerError> {
    let number = ADDED.fetch_add(1, Ordering::Relaxed);
    let directory = std::env::temp_dir().join(format!("chadwick-{}-{number}-{}", std::process::id(), &key[..8]));
    let problem = |error: std::io::Error| CompilerError::Io(format!("{}: {error}", directory.display()));
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&directory).map_err(problem)?;
    let target = directory.join("code");
    let made = make(&directory, &target);
    if made.is_err() {
        let _ = fs::remove_dir_all(&directory);
    }
    made.map(|()| target)
}

/// Whether a name begins with a key.
fn is_name_of_ours(name: &str) -> bool {
    name.split_once('.').is_some_and(|(key, _)| key.len() == 2 * KEY_BYTES && key.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn key(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hash.finalize().iter().take(KEY_BYTES).map(|byte| format!("{byte:02x}")).collect()
}
