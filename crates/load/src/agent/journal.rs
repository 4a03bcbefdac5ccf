//! The journal: a file of records, on disk before each write of a tunable.
//!
//! ```text
//! CHECKSUM SEQ {"record":"opened","format":1,"run":…,"root":"/","boot_id":…,"pid":…}
//! CHECKSUM SEQ {"record":"write","n":1,"name":…,"path":…,"original":…,"old":…,"new":…}    about to be made
//! CHECKSUM SEQ {"record":"done","n":[1]}             made and read back
//! CHECKSUM SEQ {"record":"back","n":[1]}             the file contains its `old`
//! CHECKSUM SEQ {"record":"released","n":[1]}         nothing more to do with the file
//! CHECKSUM SEQ {"record":"end","closed":false}
//! ```
//!
//! The last line is always the end mark, which the next records replace: without the mark records are missing. `write`
//! records are on disk before the write. The other records may be lost: the kernel's file gives the same information.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use super::protocol::{Form, Value};

/// Version of the records.
const FORMAT: u32 = 1;
/// Suffix of journals.
const SUFFIX: &str = "journal";
/// Folder, beside the journals, of damaged journals.
const DAMAGED: &str = "damaged";
/// Folder, beside the journals, of journals with a value that somebody else changed.
const LEFT: &str = "left-alone";

/// A record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// The first record: the agent that owns the journal.
    Opened {
        /// [`FORMAT`].
        format: u32,
        /// Name of the run.
        run: String,
        /// Root of the tunables.
        root: PathBuf,
        /// Boot of the machine.
        boot_id: String,
        /// Process of the agent.
        pid: i32,
    },
    /// A write that is about to be made.
    Write(Write),
    /// Writes that were made and read back.
    Done {
        /// Numbers of the writes.
        n: Vec<u64>,
    },
    /// The files of these writes contain their `old`.
    Back {
        /// Numbers of the writes.
        n: Vec<u64>,
    },
    /// The files of these writes are restored or left to somebody else.
    Released {
        /// Numbers of the writes.
        n: Vec<u64>,
    },
    /// The end mark.
    End {
        /// Whether everything is undone.
        closed: bool,
    },
}

/// A write of a tunable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// Number of the write.
    pub n: u64,
    /// Name of the tunable.
    pub name: String,
    /// The file.
    pub path: String,
    /// How the file shows its value.
    pub form: Form,
    /// Whether only a write changes the value.
    pub steady: bool,
    /// The value before the run.
    pub original: Value,
    /// The value before the write.
    pub old: Value,
    /// The value after the write.
    pub new: Value,
}

/// The journal of a live agent. The lock on the file shows that the agent lives.
#[derive(Debug)]
pub struct Journal {
    file: Flock<File>,
    path: PathBuf,
    last: u64,
    end: u64,
}

impl Journal {
    /// Create the journal of a run, durably.
    pub fn create(folder: &Path, run: &str, root: &Path, boot_id: &str) -> io::Result<Self> {
        private(folder)?;
        let pid = crate::sys::process::own_pid();
        let path = folder.join(format!("{run}.{pid}.{SUFFIX}"));
        let incomplete = path.with_extension("new");
        let _ = fs::remove_file(&incomplete);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&incomplete)?;
        let file = lock(file)?.ok_or(io::ErrorKind::ResourceBusy)?;
        let mut journal = Self { file, path, last: 0, end: 0 };
        let opened = Record::Opened {
            format: FORMAT,
            run: run.to_owned(),
            root: root.to_owned(),
            boot_id: boot_id.to_owned(),
            pid,
        };
        journal
            .append(&[opened], true)
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

/// The end mark of an open journal.
fn end_mark(seq: u64) -> io::Result<String> {
    line(seq, &Record::End { closed: false })
}

/// The line of a record: checksum, sequence number and JSON.
fn line(seq: u64, record: &Record) -> io::Result<String> {
    let body = format!("{seq} {}", serde_json::to_string(record)?);
    Ok(format!("{:08x} {body}\n", checksum(body.as_bytes())))
}

/// CRC-32 of IEEE 802.3, as of zlib.
pub fn checksum(bytes: &[u8]) -> u32 {
    static TABLE: [u32; 256] = table();
    !bytes.iter().fold(!0, |sum, byte| TABLE[usize::from(sum as u8 ^ byte)] ^ (sum >> 8))
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let (mut sum, mut bit) = (at as u32, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { 0xedb8_8320 ^ (sum >> 1) } else { sum >> 1 };
            bit += 1;
        }
        table[at] = sum;
        at += 1;
    }
    table
}

/// The readable part of a journal.
#[derive(Debug)]
pub struct Contents {
    /// The records before the end mark.
    pub records: Vec<Record>,
    /// The first damage.
    pub damage: Option<String>,
}

/// Decode the bytes of a journal. Every readable record counts, also after a damage.
pub fn decode(bytes: &[u8]) -> Contents {
    let text = String::from_utf8_lossy(bytes);
    let mut records = Vec::new();
    let mut damage = None;
    let (mut last, mut ended) = (0, false);
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let mut fault = |text: &str| {
            damage.get_or_insert_with(|| format!("line {number}: {text}"));
        };
        if ended {
            fault("a record follows the end mark");
        }
        let Some((seq, record)) = parse(line) else {
            fault("the checksum does not match");
            last += 1;
            continue;
        };
        if seq != last + 1 {
            fault("a record is missing before this line");
        }
        last = seq;
        match record {
            Record::End { .. } => ended = true,
            record => records.push(record),
        }
    }
    if !ended {
        damage.get_or_insert("the end is missing, and the last records with it".to_owned());
    }
    if !matches!(records.first(), Some(Record::Opened { format: FORMAT, .. })) {
        damage.get_or_insert(format!("the first record is not the head of a journal of format {FORMAT}"));
    }
    Contents { records, damage }
}

fn parse(line: &str) -> Option<(u64, Record)> {
    let (sum, body) = line.strip_suffix('\n')?.split_once(' ')?;
    let (seq, json) = body.split_once(' ')?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    (sum == checksum(body.as_bytes())).then_some(())?;
    Some((seq.parse().ok()?, serde_json::from_str(json).ok()?))
}

/// The journal of an agent that has died: locked, and read.
#[derive(Debug)]
pub struct Dead {
    /// The file; the lock excludes another recovery.
    _file: Flock<File>,
    /// Its path.
    pub path: PathBuf,
    /// Its contents.
    pub contents: Contents,
}

/// The journals of dead agents in a folder, in the order of their names; empty without the folder.
pub fn dead(folder: &Path) -> io::Result<Vec<Dead>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    private(folder)?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|suffix| suffix == SUFFIX));
    paths.sort();
    let mut journals = Vec::new();
    for path in paths {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&path)?;
        let Some(mut file) = lock(file)? else { continue };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        journals.push(Dead { _file: file, path, contents: decode(&bytes) });
    }
    Ok(journals)
}

/// End of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Everything is undone: the file is deleted.
    Delete,
    /// The file is damaged: it is kept in a separate folder, and never undone again.
    Damaged,
    /// Somebody else changed a value: the file is kept in a separate folder.
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
    private(&place)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let free =
        (1..).map(|number| place.join(if number == 1 { name.clone() } else { format!("{name}.{number}") }));
    let target = free.into_iter().find(|path| !path.exists()).unwrap_or_else(|| place.join(&name));
    fs::rename(path, &target)?;
    sync_folder(folder)?;
    Ok(Some(target))
}

/// Make a folder that only this user can write, or check that an existing folder has this property.
pub fn private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let state = fs::symlink_metadata(folder)?;
    if !state.is_dir() || state.uid() != nix::unistd::geteuid().as_raw() || state.mode() & 0o022 != 0 {
        let text = format!("{} is not a folder that only this user can write", folder.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(())
}

fn lock(file: File) -> io::Result<Option<Flock<File>>> {
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(file) => Ok(Some(file)),
        Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, error)) => Err(error.into()),
    }
}

/// Make the names in a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::{Contents, Record, checksum, decode, line};

    fn text() -> Vec<String> {
        let opened =
            Record::Opened { format: 1, run: "run-1".into(), root: "/".into(), boot_id: "b".into(), pid: 7 };
        let records = [opened, Record::Done { n: vec![1] }, Record::End { closed: false }];
        (1..).zip(&records).map(|(seq, record)| line(seq, record).unwrap()).collect()
    }

    fn read(lines: &[String]) -> Contents {
        decode(lines.concat().as_bytes())
    }

    #[test]
    fn the_checksum_equals_the_checksum_of_zlib() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn an_undamaged_journal_has_all_records() {
        let contents = read(&text());
        assert_eq!((contents.records.len(), contents.damage), (2, None));
    }

    #[test]
    fn every_damage_is_reported_and_the_other_records_are_read() {
        let lines = text();
        let flipped = lines[1].replace("done", "dona");
        assert!(read(&lines[..2]).damage.unwrap().contains("the end is missing"));
        assert!(read(&[lines[0].clone(), lines[2].clone()]).damage.unwrap().contains("missing before"));
        let contents = read(&[lines[0].clone(), flipped, lines[2].clone()]);
        assert!(contents.damage.unwrap().contains("line 2"));
        assert_eq!(contents.records.len(), 1);
        assert!(read(&lines[1..]).damage.is_some());
        assert!(decode(b"").damage.is_some());
        assert!(decode(&[0; 512]).damage.is_some());
        let cut = &lines.concat()[..lines.concat().len() - 3];
        assert!(decode(cut.as_bytes()).damage.is_some());
    }
}
