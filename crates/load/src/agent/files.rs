//! Files of the machine: patterns of paths, contents, and writes of tunables.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::protocol::{ChangedInTrial, Form, Setting, Value, Writer};
use crate::sys::files::in_path;

/// Largest number of bytes of a file that is read.
const LARGEST: u64 = 64 << 20;

/// Contents of files by path, and the number of the error for each path that cannot be read.
pub fn read_all(paths: &[String]) -> Json {
    let mut files = BTreeMap::new();
    let mut errors = BTreeMap::new();
    for path in paths.iter().flat_map(|path| matches(path)) {
        match read_bytes(&path) {
            Ok(bytes) => drop(files.insert(path.display().to_string(), as_json(bytes))),
            Err(error) => drop(errors.insert(path.display().to_string(), number(&error))),
        }
    }
    json!({ "files": files, "errors": errors })
}

/// The number of the error for each path that cannot be opened for writing. Changes nothing.
pub fn unwritable(paths: &[String]) -> Json {
    let fault = |path: &String| {
        let error = OpenOptions::new().write(true).open(path).err()?;
        Some((path.clone(), number(&error)))
    };
    json!({ "errors": paths.iter().filter_map(fault).collect::<BTreeMap<_, _>>() })
}

/// A file that [`set`] has written.
#[derive(Debug, Serialize)]
pub struct Written {
    /// Name of the tunable.
    pub name: String,
    /// Number of the alternative.
    pub place: u64,
    /// The file.
    pub path: String,
    /// Number of the error.
    pub error: Option<i32>,
    /// Contents afterwards.
    pub shown: String,
    #[serde(skip)]
    text: Option<String>,
    #[serde(skip)]
    steady: bool,
}

/// Write settings; return the written files.
pub fn set(settings: &[Setting]) -> Vec<Written> {
    let mut written = Vec::new();
    let mut done = None;
    for setting in settings {
        if done == Some(&setting.name) {
            continue;
        }
        for path in matches(&setting.path).iter().filter(|path| path.exists()) {
            done = Some(&setting.name);
            let result = setting.text.as_ref().map_or(Ok(()), |text| write_line(path, text));
            let shown = read_bytes(path).unwrap_or_default();
            written.push(Written {
                name: setting.name.clone(),
                place: setting.place,
                path: path.display().to_string(),
                error: result.err().map(|error| number(&error)),
                shown: String::from_utf8_lossy(&shown).into_owned(),
                text: setting.text.clone(),
                steady: setting.steady,
            });
        }
    }
    written
}

/// Put back the written files that a trial has changed, and return the changes, without the files that show the last text
/// that the launcher wrote (`timed`).
pub fn put_back(written: &[Written], timed: &BTreeMap<String, String>) -> Vec<ChangedInTrial> {
    let shown =
        |path: &str| String::from_utf8_lossy(&read_bytes(Path::new(path)).unwrap_or_default()).into_owned();
    let mut changed = Vec::new();
    for Written { name, path, text, shown: before, .. } in written.iter().filter(|each| each.steady) {
        let now = shown(path);
        if now != *before {
            let text = text.clone().unwrap_or_else(|| normalised(before));
            let put_back = write_line(Path::new(path), &text).is_ok() && shown(path) == *before;
            if put_back && timed.get(path).is_some_and(|last| normalised(last) == normalised(&now)) {
                continue;
            }
            let (name, path, from, to) = (name.clone(), path.clone(), normalised(before), normalised(&now));
            // Guests have no other processes.
            changed.push(ChangedInTrial { name, path, from, to, by: Writer::Workload, put_back });
        }
    }
    changed
}

fn write_line(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(format!("{text}\n").as_bytes())
}

/// The path of each program that this machine has: in `PATH`, or the match of one of its patterns with the newest version.
pub fn find(programs: &BTreeMap<String, Vec<String>>) -> Json {
    let place = |name: &str, patterns: &[String]| {
        in_path(name).or_else(|| {
            let existing = |pattern: &String| matches(pattern).into_iter().filter(|path| path.exists());
            patterns.iter().find_map(|pattern| existing(pattern).max_by_key(|path| version(path)))
        })
    };
    let paths = programs.iter().filter_map(|(name, patterns)| Some((name.clone(), place(name, patterns)?)));
    json!({ "paths": paths.collect::<BTreeMap<_, _>>() })
}

/// The numbers in a path: version 15 is newer than version 9.6.
fn version(path: &Path) -> Vec<u64> {
    let text = path.to_string_lossy();
    text.split(|letter: char| !letter.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// Existing paths that match a pattern, in order; a path without `*` matches itself.
fn matches(pattern: &str) -> Vec<PathBuf> {
    if !pattern.contains('*') {
        return vec![PathBuf::from(pattern)];
    }
    let mut paths = vec![PathBuf::from("/")];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        paths = if part.contains('*') {
            paths.iter().flat_map(|folder| entries(folder, part)).collect()
        } else {
            paths.into_iter().map(|folder| folder.join(part)).collect()
        };
    }
    paths.retain(|path| path.exists());
    paths.sort();
    paths
}

fn entries(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| fits(name, pattern)))
        .map(|entry| entry.path())
        .collect()
}

/// Whether a name fits a pattern, where each `*` stands for any text.
fn fits(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.is_char_boundary(at) && fits(&rest[at..], after))
        }),
    }
}

fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Files such as trace_pipe would block.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Bytes as text, or as hexadecimal digits where they are not UTF-8.
fn as_json(bytes: Vec<u8>) -> Json {
    String::from_utf8(bytes).map_or_else(
        |error| {
            let digits: String = error.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "hex": digits })
        },
        Json::String,
    )
}

/// The number of an error; EIO for an error without a number.
pub fn number(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// The files of tunables: files of the kernel, or plain files in a folder in their place.
#[derive(Debug, Clone)]
pub struct Tunables {
    root: PathBuf,
}

impl Tunables {
    /// The tunables below a root; `/` is the running kernel.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Whether the files are files of the running kernel.
    pub fn real(&self) -> bool {
        self.root == Path::new("/")
    }

    /// The root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The text that the file shows.
    pub fn read(&self, path: &str) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&read_bytes(Path::new(path))?).into_owned())
    }

    /// Write a value. A plain file gets the text that the kernel's file would show, in one step, as the kernel does.
    pub fn write(&self, path: &str, form: Form, old: &Value, new: &Value) -> io::Result<()> {
        #[cfg(test)]
        let new = &kernel::takes(Path::new(path), new)?;
        self.write_file(Path::new(path), form, old, new)?;
        #[cfg(test)]
        kernel::has_taken(Path::new(path), new)?;
        Ok(())
    }

    fn write_file(&self, path: &Path, form: Form, old: &Value, new: &Value) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        if self.real() {
            return file.write_all(format!("{}\n", new.write).as_bytes());
        }
        let text = emulate(&self.read(&path.display().to_string())?, form, old, new);
        let (name, state) = (path.file_name().unwrap_or_default().to_string_lossy(), file.metadata()?);
        let beside = path.with_file_name(format!(".{name}.schedlab-{}", std::process::id()));
        // A new file: another user may have put a link of this name into the folder.
        let mut new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        new.write_all(text.as_bytes())
            .and_then(|()| fchown(&new, Some(state.uid()), Some(state.gid())))
            .and_then(|()| new.set_permissions(state.permissions()))
            .and_then(|()| fs::rename(&beside, path))
            .inspect_err(|_| drop(fs::remove_file(&beside)))
    }
}

/// Whether a text shows a value.
pub fn shows(text: &str, form: Form, value: &Value) -> bool {
    match form {
        Form::Whole => value.shown.contains(&normalised(text)),
        Form::Word => text.split_whitespace().any(|word| value.shown.iter().any(|shown| shown == word)),
    }
}

/// A text with single spaces between its words.
pub fn normalised(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text that a kernel's file would show after a write.
fn emulate(text: &str, form: Form, old: &Value, new: &Value) -> String {
    let first = || new.shown.first().unwrap_or(&new.write).clone();
    if form == Form::Whole {
        return first() + "\n";
    }
    let (opening, closing) = if text.contains('[') { ('[', ']') } else { ('(', ')') };
    let words = text.split_whitespace().map(|word| {
        let bare = word.trim_matches(['[', ']', '(', ')']);
        if bare == new.write && new.shown.iter().all(|shown| *shown != new.write) {
            format!("{opening}{bare}{closing}")
        } else if old.shown.iter().any(|shown| shown == word) {
            if bare == word { first() } else { bare.to_owned() }
        } else {
            word.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(" ") + "\n"
}

#[cfg(test)]
#[path = "../../tests/unit/agent/kernel.rs"]
pub mod kernel;

#[cfg(test)]
#[path = "../../tests/unit/agent/files.rs"]
mod tests;
