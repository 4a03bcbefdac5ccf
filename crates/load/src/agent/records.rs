//! The records of a journal, as lines of text.
//!
//! ```text
//! CHECKSUM SEQ {"record":"opened","format":2,"run":…,"root":"/","boot_id":…,"host":…,"pid":…,"controller":…,…}
//! CHECKSUM SEQ {"record":"made","what":"folder","name":…}    about to be made
//! CHECKSUM SEQ {"record":"made","what":"variant hook","name":…,"undo":…}    about to be applied
//! CHECKSUM SEQ {"record":"gone","what":"folder","name":…}    removed
//! CHECKSUM SEQ {"record":"write","n":1,"name":…,"path":…,"original":…,"old":…,"new":…}    about to be made
//! CHECKSUM SEQ {"record":"done","n":[1]}             made and read back
//! CHECKSUM SEQ {"record":"back","n":[1]}             the file contains its `old`
//! CHECKSUM SEQ {"record":"released","n":[1]}         nothing more to do with the file
//! CHECKSUM SEQ {"record":"end"}
//! ```
//!
//! The last line is always the end mark, which the next records replace: without the mark records are missing. `write` and
//! `made` records are on disk before the write or the creation. The other records may be lost: the kernel's file gives the
//! same information.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::place;
use super::protocol::{Original, Value};
use super::resources::Resource;
use crate::sys::process::{self, Pid};

/// Version of the records.
pub const FORMAT: u32 = 2;

/// A record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// The first record.
    Opened(Opened),
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
    /// The files of these writes are restored or left to another process.
    Released {
        /// Numbers of the writes.
        n: Vec<u64>,
    },
    /// A resource that is about to be made.
    Made(Resource),
    /// A resource that the run has removed.
    Gone(Resource),
    /// The end mark.
    End,
}

/// The agent that owns the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// [`FORMAT`].
    pub format: u32,
    /// Name of the run.
    pub run: String,
    /// Root of the tunables.
    pub root: PathBuf,
    /// Boot of the machine.
    pub boot_id: String,
    /// Name of the machine.
    pub host: String,
    /// Namespace of the processes.
    pub namespace: String,
    /// Process of the agent.
    pub pid: Pid,
    /// Process of a controller on the same machine.
    pub controller: Option<Pid>,
}

impl Opened {
    /// The first record of a journal of this process.
    pub fn new(run: &str, root: &Path, controller: Option<Pid>) -> Self {
        Self {
            format: FORMAT,
            run: run.to_owned(),
            root: root.to_owned(),
            boot_id: place::boot_id(),
            host: place::host(),
            namespace: place::namespace(),
            pid: process::own_pid(),
            controller,
        }
    }

    /// Whether another machine, which shares the folder, wrote the journal.
    pub fn is_foreign(&self) -> bool {
        self.root == Path::new("/") && self.host != place::host() && self.boot_id != place::boot_id()
    }

    /// Whether the machine was booted since, which undid every change of the running kernel.
    pub fn is_of_another_boot(&self) -> bool {
        self.boot_id != place::boot_id()
    }

    /// Whether the controller has certainly ended. The agent then undoes the journal by itself.
    pub fn is_abandoned(&self) -> bool {
        let is_gone = |pid: Pid| !Path::new(&format!("/proc/{pid}")).exists();
        self.namespace == place::namespace() && self.controller.is_some_and(is_gone)
    }
}

/// A write of a tunable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// Number of the write.
    pub n: u64,
    /// The file.
    #[serde(flatten)]
    pub file: Original,
    /// The value before the write.
    pub old: Value,
    /// The value after the write.
    pub new: Value,
}

/// The end mark of an open journal.
pub fn end_mark(seq: u64) -> io::Result<String> {
    line(seq, &Record::End)
}

/// The line of a record: checksum (CRC-32, as of zlib), sequence number and JSON.
pub fn line(seq: u64, record: &Record) -> io::Result<String> {
    let body = format!("{seq} {}", serde_json::to_string(record)?);
    Ok(format!("{:08x} {body}\n", crc32fast::hash(body.as_bytes())))
}

/// The readable part of a journal.
#[derive(Debug)]
pub struct Contents {
    /// The records before the end mark.
    pub records: Vec<Record>,
    /// The first damage.
    pub damage: Option<String>,
    /// Sequence number of the last record before the end mark.
    pub last: u64,
    /// Offset of the end mark in bytes; of the end of a damaged journal.
    pub end: u64,
    /// Whether the last line is incomplete.
    pub torn: bool,
}

impl Contents {
    /// Time limit of the undo of a hook of a run and of a hook of its variant.
    pub fn longest_undo(&self) -> Duration {
        let limits = self.records.iter().filter_map(|record| match record {
            Record::Made(Resource { undo: Some(undo), .. }) => Some(undo.limit_ms),
            _ => None,
        });
        2 * Duration::from_millis(limits.max().unwrap_or(0))
    }

    /// The first record; `None` when it cannot be read.
    pub fn opened(&self) -> Option<&Opened> {
        self.records.iter().find_map(|record| match record {
            Record::Opened(opened) => Some(opened),
            _ => None,
        })
    }
}

/// Decode the bytes of a journal. Every readable record counts, also after a damage.
pub fn decode(bytes: &[u8]) -> Contents {
    let text = String::from_utf8_lossy(bytes);
    let mut records = Vec::new();
    let mut damage = None;
    let (mut last, mut ended, mut end, mut offset) = (0, false, 0, 0);
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
            offset += line.len();
            continue;
        };
        if seq != last + 1 {
            fault("a record is missing before this line");
        }
        match record {
            Record::End => (ended, end) = (true, offset),
            record => {
                records.push(record);
                last = seq;
            }
        }
        offset += line.len();
    }
    if !ended {
        damage.get_or_insert("the end is missing, and the last records with it".to_owned());
    }
    if !matches!(records.first(), Some(Record::Opened(_))) {
        damage.get_or_insert("the first record does not name the run".to_owned());
    }
    let end = if damage.is_none() { end } else { bytes.len() };
    let torn = bytes.last().is_some_and(|byte| *byte != b'\n');
    Contents { records, damage, last, end: end as u64, torn }
}

/// The format of a journal, if the first line is undamaged.
pub fn format_of(bytes: &[u8]) -> Option<u64> {
    let line = bytes.split_inclusive(|byte| *byte == b'\n').next()?;
    let (_, json) = checked(std::str::from_utf8(line).ok()?)?;
    serde_json::from_str::<serde_json::Value>(json).ok()?["format"].as_u64()
}

fn parse(line: &str) -> Option<(u64, Record)> {
    let (seq, json) = checked(line)?;
    Some((seq, serde_json::from_str(json).ok()?))
}

/// The sequence number and the JSON of an undamaged line.
fn checked(line: &str) -> Option<(u64, &str)> {
    let (sum, body) = line.strip_suffix('\n')?.split_once(' ')?;
    let (seq, json) = body.split_once(' ')?;
    let sum = u32::from_str_radix(sum, 16).ok()?;
    (sum == crc32fast::hash(body.as_bytes())).then_some(())?;
    Some((seq.parse().ok()?, json))
}

#[cfg(test)]
#[path = "../../tests/unit/agent/records.rs"]
mod tests;
