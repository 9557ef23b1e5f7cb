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
use std::time::SystemTime;

/// A directory of compiled code that is kept below a size.
#[derive(Clone, Debug)]
pub struct Cache {
    directory: PathBuf,
    limit: u64,
}

const DEFAULT_LIMIT: u64 = 1 << 30;

/// How many files are added between two looks at the size.
const LOOK_EVERY: u64 = 64;

static ADDED: AtomicU64 = AtomicU64::new(0);

impl Cache {
    pub fn new(directory: impl Into<PathBuf>, limit: u64) -> Cache {
        Cache { directory: directory.into(), limit }
    }

    /// Keeps nothing: what is made is used once.
    pub fn none() -> Cache {
        Cache { directory: PathBuf::from("chadwick-no-cache"), limit: 0 }
    }

    /// `CHADWICK_CACHE_DIR`, or a directory where the system keeps such things; `CHADWICK_CACHE_LIMIT` bytes, or 1 GiB.
    pub fn standard() -> Cache {
        let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let directory = from("CHADWICK_CACHE_DIR")
            .or_else(|| from("XDG_CACHE_HOME").map(|path| path.join("chadwick")))
            .or_else(|| from("HOME").map(|path| path.join(".cache").join("chadwick")))
            .unwrap_or_else(|| std::env::temp_dir().join("chadwick-cache"));
        let limit = std::env::var("CHADWICK_CACHE_LIMIT").ok().and_then(|text| text.parse().ok()).unwrap_or(DEFAULT_LIMIT);
        Cache { directory, limit }
    }

    /// The file made from these texts; `make` gets a path for a source text and the path to write to.
    pub fn get(
        &self,
        made_from: &[&str],
        make: impl FnOnce(&Path, &Path) -> Result<(), CompilerError>,
    ) -> Result<PathBuf, CompilerError> {
        let key = key(made_from);
        if self.limit == 0 {
            return make_once(&key, make);
        }
        let path = self.directory.join(format!("{key}.so"));
        if use_existing(&path, &key) {
            return Ok(path);
        }
        let problem = |error: std::io::Error| CompilerError::Io(format!("{}: {error}", self.directory.display()));
        let lock_path = self.directory.join(format!("{key}.lock"));
        let locked = fs::create_dir_all(&self.directory).and_then(|()| File::create(&lock_path)).and_then(|lock| {
            lock.lock()?;
            Ok(lock)
        });
        // Where nothing can be kept, what is made is used once.
        let Ok(lock) = locked else { return make_once(&key, make) };
        // Somebody else may have made it while we waited.
        if use_existing(&path, &key) {
            return Ok(path);
        }
        let unique = format!("{key}.{}.{}", std::process::id(), ADDED.fetch_add(1, Ordering::Relaxed));
        let (source, target) = (self.directory.join(format!("{unique}.c")), self.directory.join(format!("{unique}.tmp")));
        let made = make(&source, &target);
        let _ = fs::remove_file(&source);
        let result = made.and_then(|()| seal(&target, &key).and_then(|()| fs::rename(&target, &path)).map_err(problem));
        let _ = fs::remove_file(&target);
        let _ = fs::remove_file(&lock_path);
        drop(lock);
        if ADDED.load(Ordering::Relaxed) % LOOK_EVERY == 1 {
            self.shrink(&path);
        }
        result.map(|()| path)
    }

    /// Removes a file that [`Cache::get`] gave because it is needed now, but that is not kept.
    pub fn release(&self, path: &Path) {
        if !path.starts_with(&self.directory)
            && let Some(private) = path.parent()
        {
            let _ = fs::remove_dir_all(private);
        }
    }

    /// Removes the files that were not used for longest, until the rest fits.
    fn shrink(&self, keep: &Path) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let data = entry.metadata().ok()?;
                Some((data.modified().ok()?, data.len(), entry.path()))
            })
            .collect();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        files.sort();
        for (_, size, path) in files {
            if total <= self.limit {
                break;
            }
            if path != keep && path.extension().is_some_and(|extension| extension == "so") && fs::remove_file(&path).is_ok() {
                total = total.saturating_sub(size);
            }
        }
    }
}

/// Whether the file is there, as it was made; marks it as used.
fn use_existing(path: &Path, key: &str) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut content = Vec::new();
    if (&file).read_to_end(&mut content).is_err() {
        return false;
    }
    let is_whole = content.split_last_chunk().is_some_and(|(code, found)| *found == seal_of(code, key));
    if is_whole {
        let _ = file.set_modified(SystemTime::now());
    }
    is_whole
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
    let (source, target) = (directory.join("code.c"), directory.join("code.so"));
    let made = make(&source, &target);
    if made.is_err() {
        let _ = fs::remove_dir_all(&directory);
    }
    made.map(|()| target)
}

fn key(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hash.finalize().iter().take(20).map(|byte| format!("{byte:02x}")).collect()
}
