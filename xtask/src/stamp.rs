//! Whether something has to be made again: by the content of the files it is made from, not by their times, because
//! a checkout gives old content new times.

use crate::project::files;
use anyhow::{Context, Result};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

/// A file that says from what something was last made.
pub struct Stamp {
    path: PathBuf,
}

impl Stamp {
    pub fn at(path: PathBuf) -> Stamp {
        Stamp { path }
    }

    pub fn holds(&self, digest: &str) -> bool {
        self.note(digest).is_some()
    }

    /// What was noted with this digest.
    pub fn note(&self, digest: &str) -> Option<String> {
        let stored = fs::read_to_string(&self.path).ok()?;
        let (made_from, note) = stored.split_once('\n')?;
        (made_from == digest).then(|| note.to_owned())
    }

    /// Say so only when the thing is complete.
    pub fn set(&self, digest: &str) -> Result<()> {
        self.set_with_note(digest, "")
    }

    pub fn set_with_note(&self, digest: &str, note: &str) -> Result<()> {
        if let Some(dir) = self.path.parent() {
            fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        }
        fs::write(&self.path, format!("{digest}\n{note}"))
            .with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Before making it anew: an attempt that fails half-way must not look complete.
    pub fn clear(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The names and contents of all files in these places. A missing place counts as empty.
pub fn digest(paths: &[PathBuf]) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for path in paths {
        for file in files(path)? {
            file.hash(&mut hasher);
            fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?.hash(&mut hasher);
        }
    }
    Ok(shown(&hasher))
}

/// As a stamp holds it.
pub fn shown(hasher: &DefaultHasher) -> String {
    format!("{:016x}", hasher.finish())
}
