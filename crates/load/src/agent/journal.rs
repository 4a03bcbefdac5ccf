//! Journals: files of records, on disk before each write of a tunable, in a folder that only this user can write.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::fcntl::Flock;

use super::records::{Contents, FORMAT, Opened, Record, decode, end_mark, format_of, line};
use crate::sys::files::{lock, private};

/// Suffix of journals.
const SUFFIX: &str = "journal";
/// Suffix of a journal that is being created. Nothing depends on such a file.
const INCOMPLETE: &str = "new";
/// Suffix of journals of earlier versions, which this version cannot undo.
const EARLIER: &str = "jsonl";
/// Folder, beside the folder of journals, in which agents of earlier versions kept their journals.
const EARLIER_FOLDER: &str = "agent";
/// Time for the agent of a controller that has ended, or for another recovery, to undo a journal.
const ENDING: Duration = Duration::from_secs(5);
/// Folder, beside the journals, of damaged journals.
const DAMAGED: &str = "damaged";
/// Folder, beside the journals, of journals with a value that another process changed.
const LEFT: &str = "left-alone";

/// The journal of a live agent. The lock on the file shows that the agent lives.
#[derive(Debug)]
pub struct Journal {
    file: Flock<File>,
    path: PathBuf,
    last: u64,
    end: u64,
}

impl Journal {
    /// Create a journal durably.
    pub fn create(folder: &Path, opened: Opened) -> io::Result<Self> {
        // Other users may list the folder, so that their schedlab can report that a run changed the machine.
        private(folder, 0o755)?;
        let path = free(folder, &format!("{}.{}.{SUFFIX}", opened.run, opened.pid));
        let incomplete = path.with_extension(INCOMPLETE);
        let _ = fs::remove_file(&incomplete);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&incomplete)?;
        let file = lock(file)?.ok_or(io::ErrorKind::ResourceBusy)?;
        let mut journal = Self { file, path, last: 0, end: 0 };
        journal
            .append(&[Record::Opened(opened)], true)
            .and_then(|()| fs::rename(&incomplete, &journal.path))
            .and_then(|()| sync_folder(folder))
            .inspect_err(|_| drop(fs::remove_file(&incomplete)))?;
        Ok(journal)
    }

    /// The journal's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Add all records or none. With `durable`, the records are on disk on return.
    pub fn append(&mut self, records: &[Record], durable: bool) -> io::Result<()> {
        let mut text = String::new();
        for (seq, record) in (self.last + 1..).zip(records) {
            text += &line(seq, record)?;
        }
        let last = self.last + records.len() as u64;
        let before = if self.last == 0 { String::new() } else { end_mark(self.last + 1)? };
        let mark = end_mark(last + 1)?;
        // The file keeps its old end mark until the write succeeds as a whole.
        let whole = format!("{text}{mark}");
        if let Err(error) = self.file.write_all_at(whole.as_bytes(), self.end) {
            self.file.write_all_at(before.as_bytes(), self.end)?;
            self.file.set_len(self.end + before.len() as u64)?;
            return Err(error);
        }
        self.last = last;
        self.end += text.len() as u64;
        if durable { self.file.sync_all() } else { Ok(()) }
    }
}

/// A journal in the folder.
#[derive(Debug)]
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// Its contents, or why the journal cannot be used.
    pub contents: Result<Contents, String>,
    /// The file of a dead agent, locked: the lock excludes another recovery. `None` while the agent lives.
    file: Option<Flock<File>>,
}

impl Found {
    /// Whether the agent lives.
    pub fn is_live(&self) -> bool {
        self.file.is_none() && self.contents.is_ok()
    }

    /// The journal of a dead agent, to be continued.
    pub fn into_journal(self) -> Option<Journal> {
        let Contents { last, mut end, torn, .. } = self.contents.ok()?;
        let file = self.file?;
        if torn {
            end += u64::from(file.write_all_at(b"\n", end).is_ok());
        }
        Some(Journal { file, path: self.path, last, end })
    }
}

/// All journals in a folder, in the order of their names; empty without the folder.
///
/// With `patience`, wait a moment for an agent whose controller has ended, and remove journals that were never complete and
/// the empty folder of earlier versions.
pub fn all(folder: &Path, patience: bool) -> io::Result<Vec<Found>> {
    let earlier = |path| {
        let why = "is of an earlier version of schedlab; undo it with that version, or reboot and delete it";
        Found { path, contents: Err(why.to_owned()), file: None }
    };
    let earlier_folder = folder.with_file_name(EARLIER_FOLDER);
    if patience {
        // Fails unless the folder is empty.
        let _ = fs::remove_dir(&earlier_folder);
    }
    let is_journal = |path: &PathBuf| path.extension().is_some_and(|suffix| suffix == SUFFIX);
    let beside = entries(&earlier_folder).unwrap_or_default();
    let mut journals: Vec<Found> = beside.into_iter().filter(is_journal).map(earlier).collect();
    for path in entries(folder)? {
        match path.extension().and_then(|suffix| suffix.to_str()) {
            Some(SUFFIX) => journals.extend(find(path, patience)),
            Some(EARLIER) => journals.push(earlier(path)),
            Some(INCOMPLETE) if patience => drop(remove_incomplete(&path)),
            _ => {}
        }
    }
    Ok(journals)
}

/// The paths in a folder, in the order of their names; empty without the folder.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    private(folder, 0o755)?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// The journal with this path; `None` when the file has disappeared.
fn find(path: PathBuf, patience: bool) -> Option<Found> {
    let begin = Instant::now();
    loop {
        let file = match open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                return Some(Found { path, contents: Err(format!("cannot be used: {error}")), file: None });
            }
        };
        let (bytes, file) = match read(file) {
            Ok(read) => read,
            Err(error) => {
                return Some(Found { path, contents: Err(format!("cannot be read: {error}")), file: None });
            }
        };
        if let Some(file) = &file
            && !is_file_of(&path, file)
        {
            continue; // its agent, or another recovery, has just removed the file
        }
        let contents = match format_of(&bytes) {
            Some(format) if format != u64::from(FORMAT) => {
                Err(format!("has format {format}, and this version reads format {FORMAT}"))
            }
            _ => Ok(decode(&bytes)),
        };
        let is_abandoned =
            contents.as_ref().is_ok_and(|contents| contents.opened().is_some_and(Opened::is_abandoned));
        let ending = ENDING + contents.as_ref().map_or(Duration::ZERO, Contents::longest_undo);
        if file.is_some() || !(patience && is_abandoned) || begin.elapsed() > ending {
            return Some(Found { path, contents, file });
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Open a regular file of this user. Other users' files are refused: the undo removes folders that a journal names.
fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let options = |write| OpenOptions::new().read(true).write(write).custom_flags(flags).open(path);
    let file = options(true).or_else(|error| match error.raw_os_error() {
        Some(libc::EROFS) => options(false),
        _ => Err(error),
    })?;
    let state = file.metadata()?;
    if !state.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if state.uid() != nix::unistd::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    Ok(file)
}

/// The contents of a file, and the file if this process can lock it.
fn read(file: File) -> io::Result<(Vec<u8>, Option<Flock<File>>)> {
    let mut bytes = Vec::new();
    let mut reader = file.try_clone()?;
    // The lock is taken first: the file of a dead agent no longer changes.
    let file = lock(file)?;
    reader.read_to_end(&mut bytes)?;
    Ok((bytes, file))
}

fn is_file_of(path: &Path, file: &File) -> bool {
    let number = |state: fs::Metadata| (state.dev(), state.ino());
    let named = fs::symlink_metadata(path).map(number).ok();
    named.is_some() && named == file.metadata().map(number).ok()
}

fn remove_incomplete(path: &Path) -> io::Result<()> {
    if lock(open(path)?)?.is_some() { fs::remove_file(path) } else { Ok(()) }
}

/// End of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Everything is undone: the file is deleted.
    Delete,
    /// The file is damaged: it is kept in a separate folder, and never undone again.
    Damaged,
    /// Another process changed a value: the file is kept in a folder of its own.
    LeftAlone,
    /// A value could not be put back: the next agent tries again.
    Keep,
}

/// Delete, move or keep a journal; return its path, unless it is deleted.
pub fn retire(path: &Path, fate: Fate) -> io::Result<Option<PathBuf>> {
    let folder = path.parent().unwrap_or(path);
    let place = match fate {
        Fate::Keep => return Ok(Some(path.to_owned())),
        Fate::Delete => {
            fs::remove_file(path)?;
            sync_folder(folder)?;
            return Ok(None);
        }
        Fate::Damaged => folder.join(DAMAGED),
        Fate::LeftAlone => folder.join(LEFT),
    };
    private(&place, 0o700)?;
    let target = free(&place, &path.file_name().unwrap_or_default().to_string_lossy());
    fs::rename(path, &target)?;
    sync_folder(folder)?;
    Ok(Some(target))
}

/// A name that no file in the folder has.
fn free(folder: &Path, name: &str) -> PathBuf {
    let (stem, suffix) = name.rsplit_once('.').unwrap_or((name, SUFFIX));
    let path = |number: u32| folder.join(format!("{stem}.{number}.{suffix}"));
    let first = folder.join(name);
    if first.exists() { (2..).map(path).find(|path| !path.exists()).unwrap_or(first) } else { first }
}

/// Make the names in a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
