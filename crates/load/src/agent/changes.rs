//! The changes of a live run: tunables put in place and taken back; resources recorded.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::files::{Tunables, normalised, number, shows};
use super::journal::Journal;
use super::protocol::{Change, ChangedInTrial, Form, Kind, Original, Refusal, Value, Writer};
use super::records::{Opened, Record, Write};
use super::resources::Resource;
use super::state::{Held, Outcome, State, Verdict, fate_of, left, retire};
use super::writers::LastWriters;

/// A file of the run, and the value that it showed after the run's last change.
///
/// A change of one tunable may change the value that another shows.
#[derive(Debug)]
struct Watched {
    file: Original,
    now: Value,
}

/// All changes of a run.
#[derive(Debug)]
pub struct Changes {
    tunables: Tunables,
    folder: PathBuf,
    opened: Opened,
    journal: Option<Journal>,
    state: State,
    watched: Vec<Watched>,
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
            watched: Vec::new(),
            writes: 0,
            left: Vec::new(),
        }
    }

    /// Watch files from now on. Refused if a file has lost the value that the controller read.
    pub fn watch(&mut self, files: &[Original]) -> Result<(), Refusal> {
        for file in files {
            let text = self.read(file)?;
            if file.steady && !shows(&text, file.form, &file.original) {
                return Err(foreign(file, &file.original, &text));
            }
            self.watched.push(Watched { file: file.clone(), now: file.original.clone() });
        }
        Ok(())
    }

    /// Write the original values of files, and read each back. Refused if a file does not take its original value: the value
    /// could not be restored.
    pub fn rehearse(&mut self, files: &[Original]) -> Result<(), Refusal> {
        let step = |file: &Original| Write {
            n: 0,
            file: file.clone(),
            old: file.original.clone(),
            new: file.original.clone(),
        };
        self.commit(files.iter().map(step).collect())
    }

    /// The files that are watched.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.watched.iter().map(|watched| watched.file.path.as_str())
    }

    /// Compare the watched files with their values before a trial. A changed value is put back, because the trial explains
    /// the change. The change of a process that is certainly not of the trial is left alone, and the next
    /// [`Changes::put`] refuses it. A file that shows the last text that the launcher wrote (`timed`) is put back too, and
    /// is not a changed file.
    pub fn changed_by(
        &mut self,
        writers: &LastWriters,
        timed: &BTreeMap<String, String>,
    ) -> Vec<ChangedInTrial> {
        let mut changed = Vec::new();
        let mut steps = Vec::new();
        for watched in self.watched.iter().filter(|watched| watched.file.steady) {
            let Watched { file, now } = watched;
            let Ok(text) = self.read(file) else { continue };
            if shows(&text, file.form, now) {
                continue;
            }
            let is_timed = timed.get(&file.path).is_some_and(|last| normalised(&text) == normalised(last));
            let by = if is_timed { Writer::Workload } else { writers.of(&file.path) };
            if by != Writer::Other {
                let old = shown(file.form, &text).unwrap_or_else(|| now.clone());
                steps.push(Write { n: 0, file: file.clone(), old, new: now.clone() });
            }
            if is_timed {
                continue;
            }
            changed.push(ChangedInTrial {
                name: file.name.clone(),
                path: file.path.clone(),
                from: now.write.clone(),
                to: normalised(&text),
                by,
                put_back: false,
            });
        }
        if !steps.is_empty() && self.commit(steps.clone()).is_ok() {
            let is_put_back = |each: &ChangedInTrial| {
                steps.iter().any(|step| (&step.file.path, &step.file.name) == (&each.path, &each.name))
            };
            changed.iter_mut().for_each(|each| each.put_back = is_put_back(each));
        }
        changed
    }

    /// Give the files their wanted values, and the other files of the run their original values. Return the number of
    /// writes and the files that another process had changed. After an error the state is as before.
    pub fn put(&mut self, wanted: &[Change]) -> Result<(usize, Vec<Outcome>), Refusal> {
        let mut steps = self.returns(wanted)?;
        for change in wanted {
            steps.extend(self.step(change)?);
        }
        self.check_others(wanted)?;
        let count = steps.len();
        if count > 0 {
            self.commit(steps)?;
        }
        self.look_again(wanted);
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

    /// A refusal where a file does not have the value that it had after the last move.
    pub fn check_all(&self) -> Result<(), Refusal> {
        for Watched { file, now } in self.watched.iter().filter(|watched| watched.file.steady) {
            let Ok(text) = self.read(file) else { continue };
            if !shows(&text, file.form, now) {
                return Err(foreign(file, now, &text));
            }
        }
        Ok(())
    }

    /// A refusal where another process has changed a file that this move does not write.
    fn check_others(&self, wanted: &[Change]) -> Result<(), Refusal> {
        for Watched { file, now } in &self.watched {
            let is_written = wanted.iter().any(|change| change.file.is(file))
                || self.state.held(file).is_some()
                || self.left.iter().any(|left| (&left.path, &left.name) == (&file.path, &file.name));
            if is_written || !file.steady {
                continue;
            }
            let text = self.read(file)?;
            if !shows(&text, file.form, now) {
                return Err(foreign(file, now, &text));
            }
        }
        Ok(())
    }

    /// Note the values that the watched files show after a move. A file of the move is watched from now on.
    fn look_again(&mut self, wanted: &[Change]) {
        for Change { file, .. } in wanted {
            if !self.watched.iter().any(|watched| watched.file.is(file)) {
                self.watched.push(Watched { file: file.clone(), now: file.original.clone() });
            }
        }
        for Watched { file, now } in &mut self.watched {
            let ours = self.state.held(file).map_or(&file.original, Held::ours);
            let text = self.tunables.read(&file.path).ok();
            *now = match text.and_then(|text| shown(file.form, &text)) {
                Some(value) if !value.shown.iter().any(|text| ours.shown.contains(text)) => value,
                _ => ours.clone(),
            };
        }
    }

    /// Writes that restore the files that the next variant does not set, last first.
    fn returns(&mut self, wanted: &[Change]) -> Result<Vec<Write>, Refusal> {
        let others = |held: &Held| !wanted.iter().any(|change| change.file.is(&held.last.file));
        let mut steps = Vec::new();
        let mut released = Vec::new();
        for held in self.state.held.iter().rev().filter(|held| others(held)) {
            let last = &held.last;
            let text = self.read(&last.file)?;
            match held.judge(&text) {
                Verdict::InPlace => released.push(last.n),
                Verdict::PutBack => {
                    let (file, old) = (last.file.clone(), held.ours().clone());
                    steps.push(Write { n: 0, new: file.original.clone(), file, old });
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
        let Change { file, new } = change;
        let text = self.read(file)?;
        let held = self.state.held(file);
        let old = held.map_or(&file.original, Held::ours);
        if file.steady && !shows(&text, file.form, old) {
            return Err(foreign(file, old, &text));
        }
        if shows(&text, file.form, new) {
            return Ok(None);
        }
        let original = held.map_or(&file.original, |held| &held.last.file.original).clone();
        let (file, old, new) = (Original { original, ..file.clone() }, old.clone(), new.clone());
        Ok(Some(Write { n: 0, file, old, new }))
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
                match self.write(step, &step.old, &step.new) {
                    Ok(()) => {
                        made.push(step);
                        self.verify(step, &step.new)?;
                    }
                    Err(error) if number(&error) == libc::EINVAL && again.len() + 1 < waiting.len() => {
                        again.push(*step);
                    }
                    Err(error) => {
                        let Original { name, path, .. } = &step.file;
                        let text =
                            format!("{name}: {} could not be written to {path}: {error}", step.new.write);
                        return Err(Refusal::new(Kind::Refused, text));
                    }
                }
            }
            waiting = again;
        }
        Ok(())
    }

    fn verify(&self, step: &Write, value: &Value) -> Result<(), Refusal> {
        let Original { name, path, form, steady, .. } = &step.file;
        let text = self.read(&step.file)?;
        if *steady && !shows(&text, *form, value) {
            let text =
                format!("{name}: {} was written to {path}, which contains {}", value.write, text.trim());
            return Err(Refusal::new(Kind::Refused, text));
        }
        Ok(())
    }

    /// Undo the writes of a failed move. The end of the run tries again where that fails now.
    fn take_back(&mut self, steps: &[Write], made: &[&Write]) {
        let untouched = |step: &&Write| !made.iter().any(|each| each.n == step.n);
        let mut back: Vec<u64> = steps.iter().filter(untouched).map(|step| step.n).collect();
        for step in made.iter().rev() {
            if self.write(step, &step.new, &step.old).is_ok() && self.verify(step, &step.old).is_ok() {
                back.push(step.n);
            }
        }
        self.note(Record::Back { n: back });
    }

    fn read(&self, file: &Original) -> Result<String, Refusal> {
        let Original { name, path, .. } = file;
        self.tunables
            .read(path)
            .map_err(|error| Refusal::new(Kind::Refused, format!("{name}: {path} cannot be read: {error}")))
    }

    fn write(&self, step: &Write, old: &Value, new: &Value) -> io::Result<()> {
        self.tunables.write(&step.file.path, step.file.form, old, new)
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

/// The value that a file shows; `None` where a word among others is the value.
fn shown(form: Form, text: &str) -> Option<Value> {
    let text = normalised(text);
    (form == Form::Whole).then(|| Value { write: text.clone(), shown: vec![text] })
}

fn foreign(file: &Original, expected: &Value, text: &str) -> Refusal {
    let Original { name, path, .. } = file;
    let reason = format!("{name}: another process changed {path} from {} to {}", expected.write, text.trim());
    Refusal::new(Kind::Changed, reason)
}

#[cfg(test)]
#[path = "../../tests/unit/agent/changes.rs"]
mod tests;
