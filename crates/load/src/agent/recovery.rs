//! The undo of journals whose agents died, and their description.

use std::io;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::files::Tunables;
use super::hooks::await_launchers;
use super::journal::{self, Fate, Found};
use super::place;
use super::protocol::{Original, Value};
use super::records::{Opened, Record};
use super::state::{Held, How, Outcome, State, fate_of, retire};

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
    let in_debugfs = |record: &Record| matches!(record, Record::Write(write) if Path::new(&write.file.path).starts_with(place::DEBUGFS));
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
    if let Some(opened) = opened.filter(|_| state.made.iter().any(|made| made.undo.is_some())) {
        await_launchers(opened.pid);
    }
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
    let elsewhere = |record: &Record| matches!(record, Record::Write(write) if !in_kernel(&write.file.path));
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
        let Original { name, path, form, steady, original } = &last.file;
        json!({
            "name": name, "path": path, "form": form, "steady": steady, "original": original, "ours": ours,
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
