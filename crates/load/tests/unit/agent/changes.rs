//! A run's changes and their undo, with a kernel that refuses, rounds or ends at any write.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::Changes;
use crate::agent::files::{Tunables, kernel};
use crate::agent::journal;
use crate::agent::protocol::{Change, Form, Kind, Original, Value, Writer};
use crate::agent::records::Opened;
use crate::agent::recovery::recover;
use crate::agent::resources::Resource;
use crate::agent::state::{How, Outcome};
use crate::agent::writers::LastWriters;
use crate::sys::files::private;

/// A folder of numbers in place of a kernel's files, each at first 5. The folder is deleted with the test.
struct Folder(PathBuf);

const NAMES: [&str; 3] = ["number", "period", "runtime"];

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("schedlab-changes-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        private(&path, 0o700).unwrap();
        NAMES.iter().for_each(|name| std::fs::write(path.join(name), "5\n").unwrap());
        Self(path)
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn texts(&self) -> [String; 3] {
        NAMES.map(|name| self.text(name).trim().to_owned())
    }

    fn changes(&self, root: &Path) -> Changes {
        Changes::new(Tunables::new(root), &self.0.join("journals"), Opened::new("run", root, None))
    }

    fn wanted(&self, name: &str, new: &str) -> Change {
        let value = |text: &str| Value { write: text.to_owned(), shown: vec![text.to_owned()] };
        let path = self.0.join(name).display().to_string();
        let form = Form::Whole;
        let file = Original { name: name.into(), path, form, steady: true, original: value("5") };
        Change { file, new: value(new) }
    }

    fn variant(&self, values: &[(&str, &str)]) -> Vec<Change> {
        values.iter().map(|(name, new)| self.wanted(name, new)).collect()
    }

    fn journals(&self) -> Vec<PathBuf> {
        journal::all(&self.0.join("journals"), false).unwrap().into_iter().map(|found| found.path).collect()
    }

    fn recover(&self) -> Vec<How> {
        let outcomes = recover(&self.0.join("journals")).unwrap();
        outcomes.iter().map(|outcome: &Outcome| outcome.how).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        kernel::behave(None);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// End with a panic at write number `lives`, before or after the write.
fn die_at(lives: usize, after: bool) {
    let count = Rc::new(RefCell::new(0));
    kernel::behave(Some(Box::new(move |_, text, is_done| {
        *count.borrow_mut() += usize::from(is_done == after);
        assert!(*count.borrow() != lives + 1 || is_done != after, "the process ends");
        Ok(text.to_owned())
    })));
}

#[test]
fn the_next_variant_gets_the_original_of_every_value_that_it_does_not_set() {
    let folder = Folder::new("next");
    let mut changes = folder.changes(&folder.0);
    assert_eq!(changes.put(&[folder.wanted("number", "7")]).unwrap().0, 1);
    assert_eq!(changes.put(&[folder.wanted("number", "7")]).unwrap().0, 0);
    assert_eq!(changes.put(&[]).unwrap().0, 1);
    assert_eq!(folder.text("number"), "5\n");
    assert!(changes.undo().is_empty());
    assert!(folder.journals().is_empty());
}

#[test]
fn the_record_is_in_the_journal_before_the_write() {
    let folder = Folder::new("record");
    let journals = folder.0.join("journals");
    kernel::behave(Some(Box::new(move |path, text, _| {
        let journal = std::fs::read_dir(&journals).unwrap().next().unwrap().unwrap();
        let records = std::fs::read_to_string(journal.path()).unwrap();
        assert!(records.contains(&format!("\"path\":\"{}\"", path.display())));
        Ok(text.to_owned())
    })));
    folder.changes(&folder.0).put(&folder.variant(&[("number", "7"), ("period", "8")])).unwrap();
    assert_eq!(folder.texts(), ["7", "8", "5"]);
}

#[test]
fn a_refused_write_undoes_the_whole_move() {
    for refused in NAMES {
        let folder = Folder::new(&format!("refused-{refused}"));
        let mut changes = folder.changes(&folder.0);
        changes.put(&folder.variant(&[("number", "6"), ("period", "6")])).unwrap();
        kernel::behave(Some(Box::new(move |path, text, _| {
            if path.ends_with(refused) && text == "7" {
                return Err(io::Error::from_raw_os_error(libc::EIO));
            }
            Ok(text.to_owned())
        })));
        let next = folder.variant(&[("number", "7"), ("period", "7"), ("runtime", "7")]);
        let refusal = changes.put(&next).unwrap_err();
        assert_eq!(refusal.kind, Kind::Refused);
        assert!(refusal.text.contains(refused) && refusal.text.contains("Input/output error"));
        assert_eq!(folder.texts(), ["6", "6", "5"]);
        kernel::behave(None);
        changes.put(&next).unwrap();
        assert_eq!(folder.texts(), ["7", "7", "7"]);
        changes.undo();
        assert_eq!(folder.texts(), ["5", "5", "5"]);
    }
}

#[test]
fn a_value_that_the_kernel_rounds_is_refused_and_taken_back() {
    let folder = Folder::new("rounded");
    kernel::behave(Some(Box::new(|_, text, _| Ok(if text == "30" { "28".into() } else { text.to_owned() }))));
    let mut changes = folder.changes(&folder.0);
    let refusal = changes.put(&folder.variant(&[("number", "6"), ("period", "30")])).unwrap_err();
    assert!(
        refusal.text.contains("period: 30 was written to") && refusal.text.ends_with("which contains 28")
    );
    assert_eq!(folder.texts(), ["5", "5", "5"]);
}

#[test]
fn tunables_that_bound_each_other_are_written_and_undone_in_a_valid_order() {
    let folder = Folder::new("bounded");
    let root = folder.0.clone();
    kernel::behave(Some(Box::new(move |path, text, is_done| {
        let number = |name| -> u32 {
            let other = || std::fs::read_to_string(root.join(name)).unwrap().trim().to_owned();
            if path.ends_with(name) { text.to_owned() } else { other() }.parse().unwrap()
        };
        if !is_done && number("runtime") > number("period") {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        Ok(text.to_owned())
    })));
    let mut changes = folder.changes(&folder.0);
    changes.put(&folder.variant(&[("runtime", "20"), ("period", "40")])).unwrap();
    changes.put(&folder.variant(&[("period", "2"), ("runtime", "1")])).unwrap();
    assert_eq!(folder.texts(), ["5", "2", "1"]);
    let refusal = changes.put(&[folder.wanted("runtime", "9")]).unwrap_err();
    assert!(refusal.text.contains("Invalid argument"));
    assert_eq!(folder.texts(), ["5", "2", "1"]);
    changes.undo();
    assert_eq!(folder.texts(), ["5", "5", "5"]);
}

#[test]
fn an_end_at_any_write_of_any_moves_leaves_the_originals() {
    let moves: [&[(&str, &str)]; 4] = [
        &[("number", "6"), ("period", "7")],
        &[("period", "8"), ("runtime", "8")],
        &[],
        &[("number", "5"), ("period", "9")],
    ];
    for (lives, after, torn) in
        (0..10).flat_map(|lives| [(lives, false, 0), (lives, true, 0), (lives, false, 20), (lives, true, 40)])
    {
        let folder = Folder::new(&format!("end-{lives}-{after}-{torn}"));
        let mut changes = folder.changes(&folder.0);
        die_at(lives, after);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            moves.iter().for_each(|values| drop(changes.put(&folder.variant(values)).unwrap()));
            changes.undo();
        }));
        kernel::behave(None);
        drop(changes);
        if let (Err(_), [journal], 1..) = (ended, folder.journals().as_slice(), torn) {
            // The next records begin where the end mark was.
            let bytes = std::fs::read(journal).unwrap();
            let end = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
            let next = br#"01234567 9 {"record":"write","n":99,"name":"x","path":"y""#;
            std::fs::write(journal, [&bytes[..end], &next[..torn]].concat()).unwrap();
        }
        let outcomes = folder.recover();
        assert_eq!(folder.texts(), ["5", "5", "5"], "{lives} {after} {torn}");
        assert!(outcomes.iter().all(|how| matches!(how, How::Restored | How::Damaged)));
        assert!(folder.journals().is_empty() && folder.recover().is_empty());
    }
}

#[test]
fn a_recovery_that_ends_leaves_the_rest_to_the_next_recovery() {
    for (lives, again) in (0..4).flat_map(|lives| (0..3).map(move |again| (lives, again))) {
        let folder = Folder::new(&format!("again-{lives}-{again}"));
        let mut changes = folder.changes(&folder.0);
        die_at(lives, true);
        let moves = || {
            changes.put(&folder.variant(&[("number", "6"), ("period", "7")])).unwrap();
            changes.put(&folder.variant(&[("runtime", "8"), ("period", "9")])).unwrap();
        };
        let _ = catch_unwind(AssertUnwindSafe(moves));
        drop(changes);
        die_at(again, false);
        let _ = catch_unwind(AssertUnwindSafe(|| folder.recover()));
        kernel::behave(None);
        folder.recover();
        assert_eq!(folder.texts(), ["5", "5", "5"], "{lives} {again}");
        assert!(folder.journals().is_empty());
    }
}

#[test]
fn a_journal_of_another_boot_is_closed_without_a_write() {
    for cut in [0, 10] {
        let folder = Folder::new(&format!("boot-{cut}"));
        let mut changes = folder.changes(Path::new("/"));
        changes.opened.boot_id = "another boot".into();
        changes.put(&[folder.wanted("number", "7")]).unwrap();
        drop(changes);
        // A power cut tears the last line, which is not damage: the boot has undone the change.
        let path = &folder.journals()[0];
        let bytes = std::fs::read(path).unwrap();
        std::fs::write(path, &bytes[..bytes.len() - cut]).unwrap();
        assert_eq!(folder.recover(), [How::Rebooted]);
        assert_eq!(folder.text("number"), "7\n");
        assert!(folder.journals().is_empty());
    }
}

#[test]
fn a_journal_of_another_machine_that_shares_the_folder_is_not_touched() {
    let folder = Folder::new("foreign");
    let mut changes = folder.changes(Path::new("/"));
    changes.opened.boot_id = "another boot".into();
    changes.opened.host = "another machine".into();
    changes.put(&[folder.wanted("number", "7")]).unwrap();
    drop(changes);
    assert!(folder.recover().is_empty());
    assert_eq!((folder.journals().len(), folder.text("number").as_str()), (1, "7\n"));
}

#[test]
fn a_journal_of_this_boot_is_undone_unless_its_agent_lives() {
    let folder = Folder::new("dead");
    let mut changes = folder.changes(Path::new("/"));
    changes.put(&[folder.wanted("number", "7")]).unwrap();
    assert!(folder.recover().is_empty());
    drop(changes);
    assert_eq!(folder.recover(), [How::Restored]);
    assert_eq!(folder.text("number"), "5\n");
}

#[test]
fn a_change_in_a_trial_is_put_back_unless_another_process_certainly_made_it() {
    let folder = Folder::new("in-trial");
    let mut changes = folder.changes(&folder.0);
    changes.watch(&[folder.wanted("number", "5").file]).unwrap();
    changes.put(&folder.variant(&[("period", "7")])).unwrap();
    for name in ["number", "period"] {
        std::fs::write(folder.0.join(name), "9\n").unwrap();
    }
    // Without events no writer is known.
    let changed = changes.changed_by(&LastWriters::default(), &BTreeMap::new());
    let seen: Vec<_> = changed.iter().map(|each| (&*each.name, &*each.to, each.by, each.put_back)).collect();
    assert_eq!(seen, [("number", "9", Writer::Unknown, true), ("period", "9", Writer::Unknown, true)]);
    assert_eq!(folder.texts(), ["5", "7", "5"]);
    std::fs::write(folder.0.join("number"), "9\n").unwrap();
    let changed =
        changes.changed_by(&LastWriters::single(&folder.0.join("number"), Writer::Other), &BTreeMap::new());
    assert_eq!(
        changed.iter().map(|each| (each.by, each.put_back)).collect::<Vec<_>>(),
        [(Writer::Other, false)]
    );
    assert_eq!(changes.put(&[]).unwrap_err().kind, Kind::Changed);
    changes.undo();
    assert_eq!(folder.texts(), ["9", "5", "5"]);
}

#[test]
fn a_write_of_the_launcher_is_put_back_and_is_no_change_of_the_trial() {
    let folder = Folder::new("timed");
    let mut changes = folder.changes(&folder.0);
    changes.put(&folder.variant(&[("number", "7"), ("period", "7")])).unwrap();
    for name in ["number", "period"] {
        std::fs::write(folder.0.join(name), "9\n").unwrap();
    }
    let path = |name: &str| folder.0.join(name).display().to_string();
    let timed = BTreeMap::from([(path("number"), "9".to_owned()), (path("period"), "8".to_owned())]);
    let changed = changes.changed_by(&LastWriters::default(), &timed);
    assert_eq!(changed.iter().map(|each| &*each.name).collect::<Vec<_>>(), ["period"]);
    assert_eq!(folder.texts(), ["7", "7", "5"]);
}

#[test]
fn the_values_in_a_group_end_with_the_group() {
    let folder = Folder::new("in-group");
    let group = folder.0.join("group");
    std::fs::create_dir(&group).unwrap();
    std::fs::write(group.join("weight"), "5\n").unwrap();
    let mut changes = folder.changes(&folder.0);
    changes.made(Resource { what: "folder".into(), name: group.display().to_string(), undo: None }).unwrap();
    changes.put(&folder.variant(&[("group/weight", "7")])).unwrap();
    std::fs::write(group.join("weight"), "9\n").unwrap();
    drop(changes);
    let outcomes = recover(&folder.0.join("journals")).unwrap();
    assert_eq!(outcomes.iter().map(|each| each.how).collect::<Vec<_>>(), [How::Removed]);
    assert!(!group.exists());
}

#[test]
fn a_change_before_a_trial_begins_is_of_another_process() {
    let folder = Folder::new("before-trial");
    let mut changes = folder.changes(&folder.0);
    changes.watch(&[folder.wanted("number", "5").file]).unwrap();
    changes.put(&folder.variant(&[("period", "7")])).unwrap();
    changes.check_all().unwrap();
    std::fs::write(folder.0.join("period"), "9\n").unwrap();
    assert_eq!(changes.check_all().unwrap_err().kind, Kind::Changed);
    changes.undo();
    assert_eq!(folder.texts(), ["5", "9", "5"]);
}

#[test]
fn a_value_that_cannot_be_written_again_is_refused_before_its_first_change() {
    let folder = Folder::new("rehearsed");
    let mut changes = folder.changes(&folder.0);
    let files: Vec<Original> = NAMES.map(|name| folder.wanted(name, "5").file).into();
    changes.rehearse(&files).unwrap();
    assert_eq!(folder.texts(), ["5", "5", "5"]);
    kernel::behave(Some(Box::new(|path, text, _| {
        if path.ends_with("period") {
            Err(io::Error::from_raw_os_error(libc::EINVAL))
        } else {
            Ok(text.to_owned())
        }
    })));
    let refusal = changes.rehearse(&files).unwrap_err();
    assert!(refusal.text.contains("period: 5 could not be written"), "{}", refusal.text);
    kernel::behave(Some(Box::new(|_, text, _| Ok(format!("{text}1")))));
    assert!(changes.rehearse(&files[..1]).unwrap_err().text.contains("which contains 51"));
    kernel::behave(None);
    let hows: Vec<How> = changes.undo().iter().map(|outcome| outcome.how).collect();
    assert_eq!(hows, [How::Left], "a value that could not be taken back is reported");
}
