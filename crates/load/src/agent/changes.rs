//! The changes of a run: tunables put in place, taken back, undone; resources recorded and removed.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::files::{Tunables, number, shows};
use super::journal::{self, Fate, Found, Journal, Opened, Record, Write};
use super::place;
use super::protocol::{Change, Kind, Refusal, Value};
use super::resources::Resource;

/// A file that the run has changed.
#[derive(Debug, Clone)]
struct Held {
    /// The last write.
    last: Write,
    /// Whether the last write is certainly made.
    made: bool,
    /// Whether the last write was taken back.
    taken_back: bool,
}

impl Held {
    fn ours(&self) -> &Value {
        if self.taken_back { &self.last.old } else { &self.last.new }
    }

    fn shows(&self, text: &str, value: &Value) -> bool {
        shows(text, self.last.form, value)
    }

    /// Treatment of a file that shows this text.
    fn judge(&self, text: &str) -> Verdict {
        let in_doubt = !self.made && !self.taken_back;
        let is_ours = self.shows(text, self.ours()) || (in_doubt && self.shows(text, &self.last.old));
        if self.shows(text, &self.last.original) {
            Verdict::InPlace
        } else if is_ours || !self.last.steady {
            Verdict::PutBack
        } else {
            Verdict::Foreign
        }
    }
}

/// Treatment of a file at the end of a variant or run.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    InPlace,
    PutBack,
    Foreign,
}

/// Everything that a journal is responsible for.
#[derive(Debug, Default)]
struct State {
    /// Changed files, in the order of first writes.
    held: Vec<Held>,
    /// Resources, in the order of creation.
    made: Vec<Resource>,
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

/// All changes of a run.
#[derive(Debug)]
pub struct Changes {
    tunables: Tunables,
    folder: PathBuf,
    opened: Opened,
    journal: Option<Journal>,
    state: State,
    writes: u64,
    left: Vec<Outcome>,
}

impl Changes {
    /// No changes yet. The journal is created with the first record.
    pub fn new(tunables: Tunables, folder: &Path, opened: Opened) -> Self {
        Self {
            tunables,
            folder: folder.to_owned(),
            opened,
            journal: None,
            state: State::default(),
            writes: 0,
            left: Vec::new(),
        }
    }

    /// Give the files their wanted values, and the other files of the run their original values. Return the number of
    /// writes and the files that another process had changed. After an error the state is as before.
    pub fn put(&mut self, wanted: &[Change]) -> Result<(usize, Vec<Outcome>), Refusal> {
        let mut steps = self.returns(wanted)?;
        for change in wanted {
            steps.extend(self.step(change)?);
        }
        let count = steps.len();
        if count > 0 {
            self.commit(steps)?;
        }
        Ok((count, self.left.clone()))
    }

    /// Undo every change in reverse order, and retire the journal. Return the outcomes, and the files that were left to
    /// other processes before.
    pub fn undo(&mut self) -> Vec<Outcome> {
        let mut outcomes = std::mem::take(&mut self.left);
        let state = std::mem::take(&mut self.state);
        if let Some(mut journal) = self.journal.take() {
            outcomes.extend(state.undo(&self.tunables, &mut journal, false));
            retire(journal.path(), fate_of(&outcomes), &mut outcomes);
        }
        outcomes
    }

    /// Record a resource durably.
    pub fn made(&mut self, resource: Resource) -> Result<(), Refusal> {
        self.record(&[Record::Made(resource)], "nothing was made")
    }

    /// Record that the run has removed a resource.
    pub fn gone(&mut self, resource: Resource) {
        self.note(Record::Gone(resource));
    }

    /// Writes that restore the files that the next variant does not set, last first.
    fn returns(&mut self, wanted: &[Change]) -> Result<Vec<Write>, Refusal> {
        let others = |held: &Held| {
            !wanted.iter().any(|change| change.path == held.last.path && change.name == held.last.name)
        };
        let mut steps = Vec::new();
        let mut released = Vec::new();
        for held in self.state.held.iter().rev().filter(|held| others(held)) {
            let last = &held.last;
            let text =
                self.tunables.read(&last.path).map_err(|error| unreadable(&last.name, &last.path, &error))?;
            match held.judge(&text) {
                Verdict::InPlace => released.push(last.n),
                Verdict::PutBack => {
                    steps.push(Write { old: held.ours().clone(), new: last.original.clone(), ..last.clone() })
                }
                Verdict::Foreign => {
                    self.left.push(left(held, &text));
                    released.push(last.n);
                }
            }
        }
        if !released.is_empty() {
            self.note(Record::Released { n: released });
        }
        Ok(steps)
    }

    /// The write for a wanted value; `None` when the file has the value.
    fn step(&self, change: &Change) -> Result<Option<Write>, Refusal> {
        let Change { name, path, form, steady, .. } = change;
        let text = self.tunables.read(path).map_err(|error| unreadable(name, path, &error))?;
        let held = self.state.held.iter().find(|held| held.last.path == *path && held.last.name == *name);
        let (original, old) =
            held.map_or((&change.original, &change.original), |held| (&held.last.original, held.ours()));
        if *steady && !shows(&text, *form, old) && !shows(&text, *form, &change.new) {
            let text = text.trim();
            let reason = format!("{name}: another process changed {path} from {} to {text}", old.write);
            return Err(Refusal::new(Kind::Changed, reason));
        }
        if shows(&text, *form, &change.new) {
            return Ok(None);
        }
        Ok(Some(Write {
            n: 0,
            name: name.clone(),
            path: path.clone(),
            form: *form,
            steady: *steady,
            original: original.clone(),
            old: old.clone(),
            new: change.new.clone(),
        }))
    }

    /// Record all steps, make the records durable, then write each and read it back.
    fn commit(&mut self, mut steps: Vec<Write>) -> Result<(), Refusal> {
        for (step, n) in steps.iter_mut().zip(self.writes + 1..) {
            step.n = n;
        }
        let records: Vec<Record> = steps.iter().cloned().map(Record::Write).collect();
        self.record(&records, "nothing was changed")?;
        self.writes += steps.len() as u64;
        let mut made = Vec::new();
        let done = self.write_all(&steps, &mut made);
        if done.is_ok() {
            self.note(Record::Done { n: steps.iter().map(|step| step.n).collect() });
        } else {
            self.take_back(&steps, &made);
        }
        done
    }

    /// Make the writes. A write that the kernel calls invalid is tried again after the others: two tunables may bound each
    /// other.
    fn write_all<'s>(&self, steps: &'s [Write], made: &mut Vec<&'s Write>) -> Result<(), Refusal> {
        let mut waiting: Vec<&Write> = steps.iter().collect();
        while !waiting.is_empty() {
            let mut again = Vec::new();
            for step in &waiting {
                match self.tunables.write(&step.path, step.form, &step.old, &step.new) {
                    Ok(()) => {
                        made.push(step);
                        self.verify(step)?;
                    }
                    Err(error) if number(&error) == libc::EINVAL && again.len() + 1 < waiting.len() => {
                        again.push(*step);
                    }
                    Err(error) => {
                        let Write { name, path, new, .. } = step;
                        let text = format!("{name}: {} could not be written to {path}: {error}", new.write);
                        return Err(Refusal::new(Kind::Refused, text));
                    }
                }
            }
            waiting = again;
        }
        Ok(())
    }

    fn verify(&self, step: &Write) -> Result<(), Refusal> {
        let Write { name, path, .. } = step;
        let text = self.tunables.read(path).map_err(|error| unreadable(name, path, &error))?;
        if step.steady && !shows(&text, step.form, &step.new) {
            let text =
                format!("{name}: {} was written to {path}, which contains {}", step.new.write, text.trim());
            return Err(Refusal::new(Kind::Refused, text));
        }
        Ok(())
    }

    /// Undo the writes of a failed move. The end of the run tries again where that fails now.
    fn take_back(&mut self, steps: &[Write], made: &[&Write]) {
        let untouched = |step: &&Write| !made.iter().any(|each| each.n == step.n);
        let mut back: Vec<u64> = steps.iter().filter(untouched).map(|step| step.n).collect();
        for step in made.iter().rev() {
            if self.tunables.write(&step.path, step.form, &step.new, &step.old).is_ok() {
                back.push(step.n);
            }
        }
        self.note(Record::Back { n: back });
    }

    /// Append the records durably.
    fn record(&mut self, records: &[Record], otherwise: &str) -> Result<(), Refusal> {
        self.journal().and_then(|journal| journal.append(records, true)).map_err(|error| {
            let text = format!("cannot keep a journal in {}: {error}; {otherwise}", self.folder.display());
            Refusal::new(Kind::Journal, text)
        })?;
        records.iter().for_each(|record| self.state.add(record));
        Ok(())
    }

    /// Append without a sync: if the record is lost, the kernel's file gives the same information.
    fn note(&mut self, record: Record) {
        if let Some(journal) = &mut self.journal {
            let _ = journal.append(std::slice::from_ref(&record), false);
        }
        self.state.add(&record);
    }

    fn journal(&mut self) -> io::Result<&mut Journal> {
        if self.journal.is_none() {
            self.journal = Some(Journal::create(&self.folder, self.opened.clone())?);
        }
        self.journal.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl State {
    /// The state after these records.
    fn of(records: &[Record]) -> Self {
        let mut state = Self::default();
        records.iter().for_each(|record| state.add(record));
        state
    }

    /// Update the state with the next record.
    fn add(&mut self, record: &Record) {
        let all = &mut self.held;
        match record {
            Record::Write(write) => {
                match all.iter_mut().find(|held| held.last.path == write.path && held.last.name == write.name)
                {
                    Some(held) => *held = Held { last: write.clone(), made: false, taken_back: false },
                    None => all.push(Held { last: write.clone(), made: false, taken_back: false }),
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
        self.held.retain(|held| !((held.made || held.taken_back) && *held.ours() == held.last.original));
    }

    /// Restore all values and remove all resources, last first. The journal records each success, so that a later attempt
    /// does not undo a change that another process has made since.
    fn undo(self, tunables: &Tunables, journal: &mut Journal, booted: bool) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        let mut finished = Vec::new();
        let is_reset = booted && tunables.real();
        let mut waiting: Vec<&Held> = if is_reset { Vec::new() } else { self.held.iter().rev().collect() };
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
        for resource in self.made.into_iter().rev() {
            let Resource { what, name } = &resource;
            let outcome = |how, text: String| Outcome { how, name: what.clone(), path: name.clone(), text };
            match resource.remove(booted) {
                Ok(there) => {
                    if there {
                        outcomes.push(outcome(How::Removed, format!("{what} {name} removed")));
                    }
                    finished.push(Record::Gone(resource));
                }
                Err(error) => {
                    let text = format!("{what} {name} could not be removed: {error}");
                    outcomes.push(outcome(How::Failed, text));
                }
            }
        }
        if !finished.is_empty() {
            let _ = journal.append(&finished, false);
        }
        outcomes
    }
}

fn undo_one(held: &Held, tunables: &Tunables) -> io::Result<Outcome> {
    let last = &held.last;
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
    Outcome { how, name: held.last.name.clone(), path: held.last.path.clone(), text }
}

fn left(held: &Held, text: &str) -> Outcome {
    let Write { name, path, original, .. } = &held.last;
    let text = format!(
        "{name}: {path} left at {}, another process changed the value from {}; before the run the value was {}",
        text.trim(),
        held.ours().write,
        original.write
    );
    outcome(How::Left, held, text)
}

fn failed(held: &Held, error: &io::Error) -> Outcome {
    let Write { name, path, original, .. } = &held.last;
    outcome(How::Failed, held, format!("{name}: could not put {} back in {path}: {error}", original.write))
}

fn unreadable(name: &str, path: &str, error: &io::Error) -> Refusal {
    Refusal::new(Kind::Refused, format!("{name}: {path} cannot be read: {error}"))
}

fn fate_of(outcomes: &[Outcome]) -> Fate {
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
fn retire(path: &Path, fate: Fate, outcomes: &mut Vec<Outcome>) -> Option<PathBuf> {
    journal::retire(path, fate).unwrap_or_else(|error| {
        let text = format!("the journal {} could not be removed: {error}", path.display());
        let path = path.display().to_string();
        outcomes.push(Outcome { how: How::Failed, name: String::new(), path, text });
        None
    })
}

/// Undo the changes of dead agents, and retire their journals. Failures stay in the journals.
pub fn recover(folder: &Path) -> io::Result<Vec<Outcome>> {
    let journals: Vec<Found> =
        journal::all(folder, true)?.into_iter().filter(|found| !found.is_live()).collect();
    if journals.iter().any(needs_debugfs) {
        let _ = place::mount_debugfs();
    }
    Ok(journals.into_iter().flat_map(recover_one).collect())
}

/// Whether a journal has files in debugfs, which may have to be mounted first.
fn needs_debugfs(found: &Found) -> bool {
    let in_debugfs = |record: &Record| matches!(record, Record::Write(write) if Path::new(&write.path).starts_with(place::DEBUGFS));
    found.contents.as_ref().is_ok_and(|contents| contents.records.iter().any(in_debugfs))
}

fn recover_one(found: Found) -> Vec<Outcome> {
    let path = found.path.clone();
    let about =
        |how, text: String| Outcome { how, name: String::new(), path: path.display().to_string(), text };
    let contents = match &found.contents {
        Err(why) => {
            let text = format!("the journal {} {why}; nothing was changed", path.display());
            return vec![about(How::Failed, text)];
        }
        Ok(contents) => contents,
    };
    let opened = contents.opened();
    if opened.is_some_and(Opened::is_foreign) {
        return Vec::new();
    }
    let tunables = Tunables::new(opened.map_or_else(|| root_of(&contents.records), |opened| &opened.root));
    let booted = opened.is_some_and(Opened::is_of_another_boot);
    let state = State::of(&contents.records);
    // A power cut tears the last line, and the reboot undoes the change that the line announced.
    let damage = contents.damage.clone().filter(|_| !booted);
    let mut outcomes = Vec::new();
    if booted && tunables.real() && !state.held.is_empty() {
        let text = format!("{}: the machine was booted since, which undid every change", path.display());
        outcomes.push(about(How::Rebooted, text));
    }
    let Some(mut journal) = found.into_journal() else { return outcomes };
    outcomes.extend(state.undo(&tunables, &mut journal, booted));
    let mut fate = fate_of(&outcomes);
    if let Some(damage) = damage {
        fate = if fate == Fate::Keep { fate } else { Fate::Damaged };
        let kept = retire(&path, fate, &mut outcomes).unwrap_or(path.clone());
        let text = format!(
            "a journal was damaged ({damage}); the values that can be read are undone, other values may still be \
             changed. The journal is kept as {}: read the file, or reboot, which undoes every change",
            kept.display()
        );
        outcomes.push(about(How::Damaged, text));
    } else {
        retire(&path, fate, &mut outcomes);
    }
    outcomes
}

/// The root of the tunables of a journal without a head: each write names its whole path.
fn root_of(records: &[Record]) -> &Path {
    let in_kernel = |path: &str| path.starts_with("/proc/") || path.starts_with("/sys/");
    let elsewhere = |record: &Record| matches!(record, Record::Write(write) if !in_kernel(&write.path));
    Path::new(if records.iter().any(elsewhere) { "elsewhere" } else { "/" })
}

/// A description of each journal in the folder.
pub fn journals(folder: &Path) -> io::Result<Json> {
    let described = journal::all(folder, false)?.iter().map(describe).collect::<Vec<_>>();
    Ok(json!({ "journals": described }))
}

fn describe(found: &Found) -> Json {
    let records = found.contents.as_ref().map_or(&[][..], |contents| &contents.records);
    let state = State::of(records);
    let value = |held: &Held| {
        let last = &held.last;
        let in_doubt = !held.made && !held.taken_back;
        let ours: Vec<&Value> = if in_doubt { vec![&last.old, &last.new] } else { vec![held.ours()] };
        json!({
            "name": last.name, "path": last.path, "form": last.form, "steady": last.steady,
            "original": last.original, "ours": ours,
        })
    };
    json!({
        "path": found.path,
        "live": found.is_live(),
        "opened": found.contents.as_ref().ok().and_then(|contents| contents.opened()),
        "fault": match &found.contents {
            Err(why) => Some(why),
            Ok(contents) => contents.damage.as_ref().filter(|_| !found.is_live()),
        },
        "values": state.held.iter().map(value).collect::<Vec<_>>(),
        "made": state.made,
    })
}

#[cfg(test)]
#[path = "../../tests/unit/agent/changes.rs"]
mod tests;
