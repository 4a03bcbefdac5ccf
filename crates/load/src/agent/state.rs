//! What a journal is responsible for: changed files and made resources, and their undo.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::files::{Tunables, number, shows};
use super::hooks;
use super::journal::{self, Fate, Journal};
use super::place;
use super::protocol::{Original, Value};
use super::records::{Record, Write};
use super::resources::{Resource, VARIANT_HOOK};

/// A file that the run has changed.
#[derive(Debug, Clone)]
pub struct Held {
    /// The last write.
    pub last: Write,
    /// Whether the last write is certainly made.
    pub made: bool,
    /// Whether the last write was taken back.
    pub taken_back: bool,
}

impl Held {
    pub fn ours(&self) -> &Value {
        if self.taken_back { &self.last.old } else { &self.last.new }
    }

    fn shows(&self, text: &str, value: &Value) -> bool {
        shows(text, self.last.file.form, value)
    }

    /// Treatment of a file that shows this text.
    pub fn judge(&self, text: &str) -> Verdict {
        let in_doubt = !self.made && !self.taken_back;
        let is_ours = self.shows(text, self.ours()) || (in_doubt && self.shows(text, &self.last.old));
        if self.shows(text, &self.last.file.original) {
            Verdict::InPlace
        } else if is_ours || !self.last.file.steady {
            Verdict::PutBack
        } else {
            Verdict::Foreign
        }
    }
}

/// Treatment of a file at the end of a variant or run.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    InPlace,
    PutBack,
    Foreign,
}

/// Everything that a journal is responsible for.
#[derive(Debug, Default)]
pub struct State {
    /// Changed files, in the order of first writes.
    pub held: Vec<Held>,
    /// Resources, in the order of creation.
    pub made: Vec<Resource>,
}

/// Outcome for a file or resource at the end of a run, or for a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// What happened.
    pub how: How,
    /// Name of the tunable; kind of the resource; empty for a journal.
    pub name: String,
    /// The file, or the name of the resource.
    pub path: String,
    /// Description for people.
    pub text: String,
}

/// What happened to a file, resource or journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The original value is in place.
    Restored,
    /// Another process changed the value, which stays.
    Left,
    /// The resource is removed.
    Removed,
    /// The original could not be written, or the resource not removed; the journal is kept.
    Failed,
    /// The journal is damaged and kept.
    Damaged,
    /// The machine was booted since: its tunables have the values of the boot.
    Rebooted,
}

impl State {
    /// The changed file, if the run has changed it.
    pub fn held(&self, file: &Original) -> Option<&Held> {
        self.held.iter().find(|held| held.last.file.is(file))
    }

    /// The state after these records.
    pub fn of(records: &[Record]) -> Self {
        let mut state = Self::default();
        records.iter().for_each(|record| state.add(record));
        state
    }

    /// Update the state with the next record.
    pub fn add(&mut self, record: &Record) {
        let all = &mut self.held;
        match record {
            Record::Write(write) => {
                let next = Held { last: write.clone(), made: false, taken_back: false };
                match all.iter_mut().find(|held| held.last.file.is(&write.file)) {
                    Some(held) => *held = next,
                    None => all.push(next),
                }
            }
            Record::Done { n } => {
                all.iter_mut().filter(|held| n.contains(&held.last.n)).for_each(|held| held.made = true);
            }
            Record::Back { n } => {
                all.iter_mut()
                    .filter(|held| n.contains(&held.last.n))
                    .for_each(|held| held.taken_back = true);
            }
            Record::Released { n } => all.retain(|held| !n.contains(&held.last.n)),
            Record::Made(resource) => self.made.push(resource.clone()),
            Record::Gone(resource) => self.made.retain(|made| made != resource),
            Record::Opened(_) | Record::End => {}
        }
        // A file that is back at its original is forgotten; a later write begins anew.
        self.held.retain(|held| !((held.made || held.taken_back) && *held.ours() == held.last.file.original));
    }

    /// Undo the hooks of variants, restore all values and remove all resources, last first. The journal records each success,
    /// so that a later attempt does not undo a change that another process has made since.
    pub fn undo(self, tunables: &Tunables, journal: &mut Journal, booted: bool) -> Vec<Outcome> {
        let mut finished = Vec::new();
        let (hooks, resources): (Vec<_>, Vec<_>) =
            self.made.into_iter().partition(|resource| resource.what == VARIANT_HOOK);
        let mut outcomes = remove(hooks, booted, &mut finished);
        let is_reset = booted && tunables.real();
        // The values in a control group end with the group.
        let is_in_group = |held: &&Held| {
            resources.iter().any(|made| Path::new(&held.last.file.path).starts_with(&made.name))
        };
        let mut waiting: Vec<&Held> =
            self.held.iter().rev().filter(|held| !is_reset && !is_in_group(held)).collect();
        while !waiting.is_empty() {
            let mut again = Vec::new();
            for held in &waiting {
                match undo_one(held, tunables) {
                    // Two tunables may bound each other, so that only one order of writes is valid.
                    Err(error) if number(&error) == libc::EINVAL => again.push((*held, error)),
                    Err(error) => outcomes.push(failed(held, &error)),
                    Ok(outcome) => {
                        outcomes.push(outcome);
                        finished.push(Record::Released { n: vec![held.last.n] });
                    }
                }
            }
            if again.len() == waiting.len() {
                outcomes.extend(again.iter().map(|(held, error)| failed(held, error)));
                break;
            }
            waiting = again.into_iter().map(|(held, _)| held).collect();
        }
        outcomes.extend(remove(resources, booted, &mut finished));
        if !finished.is_empty() {
            let _ = journal.append(&finished, false);
        }
        outcomes
    }
}

/// Remove resources, last first, and add the records of the successes.
fn remove(resources: Vec<Resource>, booted: bool, finished: &mut Vec<Record>) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for resource in resources.into_iter().rev() {
        let Resource { what, name, undo } = &resource;
        let done = if undo.is_some() { "undone" } else { "removed" };
        let outcome = |how, text: String| Outcome { how, name: what.clone(), path: name.clone(), text };
        // Hooks are undone also after a reboot: they may have changed files.
        let removed =
            undo.as_ref().map_or_else(|| resource.remove(booted), |undo| hooks::run(undo).map(|()| true));
        match removed {
            Ok(there) => {
                if there {
                    outcomes.push(outcome(How::Removed, format!("{what} {name} {done}")));
                }
                finished.push(Record::Gone(resource));
            }
            Err(error) => {
                let text = format!("{what} {name} could not be {done}: {error}");
                outcomes.push(outcome(How::Failed, text));
            }
        }
    }
    outcomes
}

fn undo_one(held: &Held, tunables: &Tunables) -> io::Result<Outcome> {
    let last = &held.last.file;
    let text = match tunables.read(&last.path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            if last.path.starts_with(place::DEBUGFS) && !place::has_debugfs() {
                let text = "debugfs is not mounted; mounting debugfs needs root, and a kernel that permits the mount";
                return Err(io::Error::other(text));
            }
            let text = format!("{}: {} is gone, and its value with it", last.name, last.path);
            return Ok(outcome(How::Left, held, text));
        }
        text => text?,
    };
    let wrote = match held.judge(&text) {
        Verdict::Foreign => return Ok(left(held, &text)),
        Verdict::InPlace => false,
        Verdict::PutBack => {
            tunables.write(&last.path, last.form, held.ours(), &last.original)?;
            true
        }
    };
    let text = tunables.read(&last.path)?;
    if last.steady && !held.shows(&text, &last.original) {
        return Err(io::Error::other(format!("it was written, but the file contains {}", text.trim())));
    }
    let verb = if wrote { "put back in" } else { "already in" };
    Ok(outcome(How::Restored, held, format!("{}: {} {verb} {}", last.name, last.original.write, last.path)))
}

fn outcome(how: How, held: &Held, text: String) -> Outcome {
    Outcome { how, name: held.last.file.name.clone(), path: held.last.file.path.clone(), text }
}

pub fn left(held: &Held, text: &str) -> Outcome {
    let Original { name, path, original, .. } = &held.last.file;
    let text = format!(
        "{name}: {path} left at {}, another process changed the value from {}; before the run the value was {}",
        text.trim(),
        held.ours().write,
        original.write
    );
    outcome(How::Left, held, text)
}

fn failed(held: &Held, error: &io::Error) -> Outcome {
    let Original { name, path, original, .. } = &held.last.file;
    outcome(How::Failed, held, format!("{name}: could not put {} back in {path}: {error}", original.write))
}

pub fn fate_of(outcomes: &[Outcome]) -> Fate {
    let any = |how| outcomes.iter().any(|outcome| outcome.how == how);
    if any(How::Failed) {
        Fate::Keep
    } else if any(How::Left) {
        Fate::LeftAlone
    } else {
        Fate::Delete
    }
}

/// Retire a journal, and return its new path.
pub fn retire(path: &Path, fate: Fate, outcomes: &mut Vec<Outcome>) -> Option<PathBuf> {
    journal::retire(path, fate).unwrap_or_else(|error| {
        let text = format!("the journal {} could not be removed: {error}", path.display());
        let path = path.display().to_string();
        outcomes.push(Outcome { how: How::Failed, name: String::new(), path, text });
        None
    })
}
