//! The changed tunables: put in place, taken back, undone.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::files::{Tunables, number, shows};
use super::journal::{self, Fate, Journal, Record, Write};
use super::protocol::{Change, Kind, Refusal, Value};

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

/// Outcome for a file at the end of a run, or for a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// What happened.
    pub how: How,
    /// Name of the tunable; empty for a journal.
    pub name: String,
    /// The file.
    pub path: String,
    /// Description for people.
    pub text: String,
}

/// What happened to a file or journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The original value is in place.
    Restored,
    /// Somebody else changed the value, which stays.
    Left,
    /// The original could not be written; the journal is kept.
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
    run: String,
    boot_id: String,
    journal: Option<Journal>,
    held: Vec<Held>,
    writes: u64,
    left: Vec<Outcome>,
}

impl Changes {
    /// No changes yet. The journal is created with the first write.
    pub fn new(tunables: Tunables, folder: &Path, run: &str, boot_id: &str) -> Self {
        Self {
            tunables,
            folder: folder.to_owned(),
            run: run.to_owned(),
            boot_id: boot_id.to_owned(),
            journal: None,
            held: Vec::new(),
            writes: 0,
            left: Vec::new(),
        }
    }

    /// Give the files their wanted values, and the other files of the run their original values. Return the number of
    /// writes and the files that somebody else had changed. After an error the state is as before.
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
    /// somebody else before.
    pub fn undo(&mut self) -> Vec<Outcome> {
        let mut outcomes = std::mem::take(&mut self.left);
        let held = std::mem::take(&mut self.held);
        outcomes.extend(undo(&held, &self.tunables));
        if let Some(journal) = self.journal.take() {
            let path = journal.path().to_owned();
            retire(&path, fate_of(&outcomes), &mut outcomes);
        }
        outcomes
    }

    /// Writes that restore the files that the next variant does not set, last first.
    fn returns(&mut self, wanted: &[Change]) -> Result<Vec<Write>, Refusal> {
        let others = |held: &Held| {
            !wanted.iter().any(|change| change.path == held.last.path && change.name == held.last.name)
        };
        let mut steps = Vec::new();
        let mut released = Vec::new();
        for held in self.held.iter().rev().filter(|held| others(held)) {
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
        let held = self.held.iter().find(|held| held.last.path == *path && held.last.name == *name);
        let (original, old) =
            held.map_or((&change.original, &change.original), |held| (&held.last.original, held.ours()));
        if *steady && !shows(&text, *form, old) && !shows(&text, *form, &change.new) {
            let text = text.trim();
            let reason = format!("{name}: somebody else changed {path} from {} to {text}", old.write);
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
        self.journal().and_then(|journal| journal.append(&records, true)).map_err(|error| {
            let text =
                format!("cannot keep a journal in {}: {error}; nothing was changed", self.folder.display());
            Refusal::new(Kind::Journal, text)
        })?;
        self.writes += steps.len() as u64;
        records.iter().for_each(|record| add(&mut self.held, record));
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
                format!("{name}: {} was written to {path}, which reads {}", step.new.write, text.trim());
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

    /// Append without a sync: if the record is lost, the kernel's file gives the same information.
    fn note(&mut self, record: Record) {
        if let Some(journal) = &mut self.journal {
            let _ = journal.append(std::slice::from_ref(&record), false);
        }
        add(&mut self.held, &record);
    }

    fn journal(&mut self) -> io::Result<&mut Journal> {
        if self.journal.is_none() {
            let created = Journal::create(&self.folder, &self.run, self.tunables.root(), &self.boot_id)?;
            self.journal = Some(created);
        }
        self.journal.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Update the changed files with the next record.
fn add(all: &mut Vec<Held>, record: &Record) {
    match record {
        Record::Write(write) => {
            match all.iter_mut().find(|held| held.last.path == write.path && held.last.name == write.name) {
                Some(held) => *held = Held { last: write.clone(), made: false, taken_back: false },
                None => all.push(Held { last: write.clone(), made: false, taken_back: false }),
            }
        }
        Record::Done { n } => {
            all.iter_mut().filter(|held| n.contains(&held.last.n)).for_each(|held| held.made = true)
        }
        Record::Back { n } => {
            all.iter_mut().filter(|held| n.contains(&held.last.n)).for_each(|held| held.taken_back = true);
        }
        Record::Released { n } => all.retain(|held| !n.contains(&held.last.n)),
        Record::Opened { .. } | Record::End { .. } => {}
    }
    // A file that is back at its original is forgotten; a later write begins anew.
    all.retain(|held| !((held.made || held.taken_back) && *held.ours() == held.last.original));
}

fn undo(all: &[Held], tunables: &Tunables) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    let mut waiting: Vec<&Held> = all.iter().rev().collect();
    while !waiting.is_empty() {
        let mut again = Vec::new();
        for held in &waiting {
            match undo_one(held, tunables) {
                Err(error) if number(&error) == libc::EINVAL => again.push((*held, error)),
                Err(error) => outcomes.push(failed(held, &error)),
                Ok(outcome) => outcomes.push(outcome),
            }
        }
        if again.len() == waiting.len() {
            outcomes.extend(again.iter().map(|(held, error)| failed(held, error)));
            break;
        }
        waiting = again.into_iter().map(|(held, _)| held).collect();
    }
    outcomes
}

fn undo_one(held: &Held, tunables: &Tunables) -> io::Result<Outcome> {
    let last = &held.last;
    let text = match tunables.read(&last.path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
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
        return Err(io::Error::other(format!("it was written, but the file reads {}", text.trim())));
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
        "{name}: {path} left at {}, somebody else changed it from {}; before the run it was {}",
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

fn retire(path: &Path, fate: Fate, outcomes: &mut Vec<Outcome>) {
    if let Err(error) = journal::retire(path, fate) {
        let text = format!("the journal {} could not be removed: {error}", path.display());
        outcomes.push(Outcome {
            how: How::Failed,
            name: String::new(),
            path: path.display().to_string(),
            text,
        });
    }
}

/// Whether a dead agent's journal has files in debugfs, which may have to be mounted first.
pub fn needs_debugfs(journals: &[journal::Dead]) -> bool {
    let in_debugfs = |record: &Record| matches!(record, Record::Write(write) if write.path.starts_with("/sys/kernel/debug/"));
    journals.iter().any(|dead| dead.contents.records.iter().any(in_debugfs))
}

/// Undo the changes of dead agents, and retire their journals.
pub fn recover(journals: Vec<journal::Dead>, boot_id: &str) -> Vec<Outcome> {
    journals.iter().flat_map(|dead| recover_one(dead, boot_id)).collect()
}

fn recover_one(dead: &journal::Dead, boot_id: &str) -> Vec<Outcome> {
    let about =
        |how, text: String| Outcome { how, name: String::new(), path: dead.path.display().to_string(), text };
    let (root, boot) = match dead.contents.records.first() {
        Some(Record::Opened { root, boot_id, .. }) => (root.clone(), Some(boot_id.as_str())),
        // The head is damaged. Each write names its whole path; values of the kernel are the likely ones.
        _ => (PathBuf::from("/"), None),
    };
    let tunables = Tunables::new(&root);
    let mut outcomes = Vec::new();
    let mut fate = Fate::Delete;
    if tunables.real() && boot.is_some_and(|boot| boot != boot_id) {
        let text = format!("{}: the machine was booted since, which undid every change", dead.path.display());
        outcomes.push(about(How::Rebooted, text));
    } else {
        let mut all = Vec::new();
        dead.contents.records.iter().for_each(|record| add(&mut all, record));
        outcomes.extend(undo(&all, &tunables));
        fate = fate_of(&outcomes);
    }
    if let Some(damage) = &dead.contents.damage
        && fate != Fate::Keep
    {
        let text = format!(
            "the journal {} is damaged ({damage}); every readable record is undone, other values may still be \
             changed. The file is kept in the folder `damaged`: read it, or reboot, which undoes every change",
            dead.path.display()
        );
        outcomes.push(about(How::Damaged, text));
        fate = Fate::Damaged;
    }
    retire(&dead.path, fate, &mut outcomes);
    outcomes
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Changes, How, recover};
    use crate::agent::files::Tunables;
    use crate::agent::journal;
    use crate::agent::protocol::{Change, Form, Kind, Value};

    /// A folder that is deleted with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("schedlab-changes-{name}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            journal::private(&path).unwrap();
            std::fs::write(path.join("number"), "5\n").unwrap();
            Self(path)
        }

        fn number(&self) -> PathBuf {
            self.0.join("number")
        }

        fn text(&self) -> String {
            std::fs::read_to_string(self.number()).unwrap()
        }

        fn changes(&self, root: &Path) -> Changes {
            Changes::new(Tunables::new(root), &self.0.join("journals"), "run", "this boot")
        }

        fn wanted(&self, new: &str) -> Change {
            let value = |text: &str| Value { write: text.to_owned(), shown: vec![text.to_owned()] };
            let path = self.number().display().to_string();
            let form = Form::Whole;
            Change { name: "number".into(), path, form, steady: true, original: value("5"), new: value(new) }
        }

        fn dead(&self) -> Vec<journal::Dead> {
            journal::dead(&self.0.join("journals")).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_next_variant_gets_the_original_of_every_value_that_it_does_not_set() {
        let folder = Folder::new("next");
        let mut changes = folder.changes(&folder.0);
        assert_eq!(changes.put(&[folder.wanted("7")]).unwrap().0, 1);
        assert_eq!(changes.put(&[folder.wanted("7")]).unwrap().0, 0);
        assert_eq!(changes.put(&[]).unwrap().0, 1);
        assert_eq!(folder.text(), "5\n");
        assert!(changes.undo().is_empty());
        assert!(folder.dead().is_empty());
    }

    #[test]
    fn a_failed_move_takes_its_writes_back() {
        let folder = Folder::new("failed");
        let mut changes = folder.changes(&folder.0);
        let mut refused = folder.wanted("7");
        refused.name = "refused".into();
        refused.path = folder.0.join("nothing").display().to_string();
        assert_eq!(changes.put(&[folder.wanted("7"), refused]).unwrap_err().kind, Kind::Refused);
        assert_eq!(folder.text(), "5\n");
    }

    #[test]
    fn a_journal_of_another_boot_is_closed_without_a_write() {
        let folder = Folder::new("boot");
        let mut changes = folder.changes(Path::new("/"));
        changes.put(&[folder.wanted("7")]).unwrap();
        drop(changes);
        let outcomes = recover(folder.dead(), "another boot");
        assert_eq!(outcomes.iter().map(|outcome| outcome.how).collect::<Vec<_>>(), [How::Rebooted]);
        assert_eq!(folder.text(), "7\n");
        assert!(folder.dead().is_empty());
    }

    #[test]
    fn a_journal_of_this_boot_is_undone_unless_its_agent_lives() {
        let folder = Folder::new("dead");
        let mut changes = folder.changes(Path::new("/"));
        changes.put(&[folder.wanted("7")]).unwrap();
        assert!(folder.dead().is_empty());
        drop(changes);
        let outcomes = recover(folder.dead(), "this boot");
        assert_eq!(outcomes.iter().map(|outcome| outcome.how).collect::<Vec<_>>(), [How::Restored]);
        assert_eq!(folder.text(), "5\n");
    }
}
