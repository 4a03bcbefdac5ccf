//! Control groups of a run: a directory for each group in each hierarchy, below the root of the hierarchy (cgroups(7)).
//!
//! A directory's files are tunables ([`super::changes`]). The removal of the directory takes their values with it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::changes::Changes;
use super::files::Tunables;
use super::protocol::{Answer, Kind, Refusal};
use super::resources::Resource;

/// Places of version 2, alone or beside version 1, below the root of the tunables.
const VERSION_2: [&str; 2] = ["sys/fs/cgroup", "sys/fs/cgroup/unified"];
/// Place of the hierarchies of version 1.
const VERSION_1: &str = "sys/fs/cgroup";
/// Start of a directory's name, which separates a run's groups from the machine's groups.
const PREFIX: &str = "schedlab.";
/// Files that a new `cpuset` of version 1 lacks, without which the cpuset takes no process (cgroup-v1/cpusets.rst).
const CPUSET: [&str; 2] = ["cpuset.cpus", "cpuset.mems"];

/// Hierarchies with the wanted controllers.
struct Hierarchies {
    version: u32,
    /// The mount point by controller; the same mount point for all controllers of version 2.
    mounts: BTreeMap<String, PathBuf>,
}

/// Return the directory of each group by controller. Make the directories if `make`, recorded in `changes` before; a guest
/// has no `changes`.
pub fn groups(
    tunables: &Tunables,
    mut changes: Option<&mut Changes>,
    names: &[String],
    controllers: &[String],
    make: bool,
) -> Answer {
    let found = Hierarchies::find(tunables.root(), controllers).map_err(|text| refused(&text))?;
    if make && found.version == 2 {
        found.enable(changes.as_deref_mut())?;
    }
    let mut groups = BTreeMap::new();
    for name in names {
        let folder = format!("{PREFIX}{name}");
        let paths: BTreeMap<&String, PathBuf> =
            found.mounts.iter().map(|(controller, mount)| (controller, mount.join(&folder))).collect();
        let mut distinct: Vec<&PathBuf> = paths.values().collect();
        distinct.dedup();
        for path in distinct {
            if path.exists() {
                let text =
                    format!("the control group {} exists; remove the group with rmdir", path.display());
                return Err(refused(&text));
            }
            if make {
                make_group(path, tunables, changes.as_deref_mut())?;
            }
        }
        groups.insert(name, paths);
    }
    Ok(json!({ "version": found.version, "groups": groups }))
}

impl Hierarchies {
    fn find(root: &Path, controllers: &[String]) -> Result<Self, String> {
        let has_cpu = |mount: &PathBuf| words(&mount.join("cgroup.controllers")).contains(&"cpu".to_owned());
        if let Some(mount) = VERSION_2.iter().map(|place| root.join(place)).find(has_cpu) {
            let offered = words(&mount.join("cgroup.controllers"));
            if let Some(lacking) = controllers.iter().find(|name| !offered.contains(name)) {
                return Err(format!(
                    "version 2 of control groups in {} lacks the controller {lacking}",
                    mount.display()
                ));
            }
            let mounts = controllers.iter().map(|name| (name.clone(), mount.clone())).collect();
            return Ok(Self { version: 2, mounts });
        }
        let mount =
            |name: &str| Some(root.join(VERSION_1).join(name)).filter(|mount| mount.join("tasks").exists());
        let mut mounts = BTreeMap::new();
        for name in controllers {
            let place = mount(name).ok_or_else(|| {
                format!("/{VERSION_1} has the controller {name} neither in version 2 nor in version 1 of control groups")
            })?;
            mounts.insert(name.clone(), place);
        }
        // Version 2 counts CPU time in the controller cpu.
        mounts.extend(mount("cpuacct").map(|mount| ("cpuacct".to_owned(), mount)));
        Ok(Self { version: 1, mounts })
    }

    /// Let the root's groups have the controllers, until the end of the run.
    fn enable(&self, changes: Option<&mut Changes>) -> Result<(), Refusal> {
        let Some(mount) = self.mounts.values().next() else { return Ok(()) };
        let file = mount.join("cgroup.subtree_control");
        let enabled = words(&file);
        let missing: Vec<&String> = self.mounts.keys().filter(|name| !enabled.contains(name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let all =
            |sign: &str| missing.iter().map(|name| format!("{sign}{name}")).collect::<Vec<_>>().join(" ");
        if let Some(changes) = changes {
            let name = format!("{} {}", file.display(), all("-"));
            changes.made(Resource { what: "controllers".to_owned(), name, undo: None })?;
        }
        fs::write(&file, all("+")).map_err(|error| {
            refused(&format!("{} could not be written to {}: {error}", all("+"), file.display()))
        })
    }
}

fn make_group(path: &Path, tunables: &Tunables, changes: Option<&mut Changes>) -> Result<(), Refusal> {
    let what = if tunables.real() { "group" } else { "folder" };
    if let Some(changes) = changes {
        changes.made(Resource { what: what.to_owned(), name: path.display().to_string(), undo: None })?;
    }
    let failed =
        |error: io::Error| refused(&format!("the control group {} cannot be made: {error}", path.display()));
    fs::create_dir(path).map_err(failed)?;
    let parent = path.parent().unwrap_or(path);
    if !tunables.real() {
        return imitate(parent, path).map_err(failed);
    }
    if parent.join("tasks").exists() && parent.join(CPUSET[0]).exists() {
        CPUSET
            .iter()
            .try_for_each(|file| fs::write(path.join(file), fs::read(parent.join(file))?))
            .map_err(failed)?;
    }
    Ok(())
}

/// Give a folder in place of a control group copies of its parent's files.
fn imitate(parent: &Path, path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(parent)?.flatten().filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), path.join(entry.file_name()))?;
    }
    Ok(())
}

/// The words of a file; empty for a file that cannot be read.
fn words(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

fn refused(text: &str) -> Refusal {
    Refusal::new(Kind::Refused, text)
}

#[cfg(test)]
#[path = "../../tests/unit/agent/groups.rs"]
mod tests;
