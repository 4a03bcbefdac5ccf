//! Resources that a run makes on the machine, and their removal after the run.
//!
//! The journal names each resource before the run makes the resource. Resources that end with their process (processes
//! under the launcher, namespaces, sockets in a folder of the run) are not recorded.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};

use crate::sys::files::lock;
use crate::sys::memory::remove_segment;

/// Time for processes of a dead run to end. The launcher kills these processes.
const ENDING: Duration = Duration::from_secs(5);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// Segments of System V shared memory (proc(5)).
const SEGMENTS: &str = "/proc/sysvipc/shm";

/// A resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// `folder` with its contents, `segment` of System V shared memory (shmget(2)), control `group` (cgroups(7)),
    /// `controllers` of control groups, [`VARIANT_HOOK`] or `run hook`.
    pub what: String,
    /// Path of a folder or group, key of a segment, a file and the text that takes the controllers away, or name of a hook's
    /// variant or experiment.
    pub name: String,
    /// The undo of a hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Undo>,
}

/// The undo of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// The command, for `sh -c`.
    pub command: String,
    /// Time limit in milliseconds.
    pub limit_ms: u64,
}

/// Hook of a variant, which is in place above the variant's tunables.
pub const VARIANT_HOOK: &str = "variant hook";

impl Resource {
    /// Remove a resource of a run that has ended. Return false if the resource does not exist, belongs to another user,
    /// or is lost because of a reboot.
    pub fn remove(&self, booted: bool) -> io::Result<bool> {
        let path = Path::new(&self.name);
        match self.what.as_str() {
            "folder" => remove_folder(path),
            // After a reboot, a resource of the same name belongs to another process.
            "segment" | "group" | "controllers" if booted => Ok(false),
            "segment" => self.name.parse().map_err(io::Error::other).and_then(remove_segments),
            "group" => remove_group(path),
            "controllers" => disable(&self.name),
            _ => Err(io::Error::other("this program does not support this kind")),
        }
    }
}

/// Remove a folder, unless it belongs to another user or a live run has locked it: after a reboot, another user may have
/// made a folder of this name.
fn remove_folder(path: &Path) -> io::Result<bool> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let folder = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(folder) => folder,
        Err(error) if is_absent(&error) || error.raw_os_error() == Some(libc::ELOOP) => return Ok(false),
        Err(error) => return Err(error),
    };
    if folder.metadata()?.uid() != geteuid().as_raw() {
        return Ok(false);
    }
    // A process of the run that is ending keeps its lock for a moment.
    let deadline = Instant::now() + ENDING;
    while lock(folder.try_clone()?)?.is_none() {
        if Instant::now() > deadline {
            return Ok(false);
        }
        std::thread::sleep(PAUSE);
    }
    until_ended(|| fs::remove_dir_all(path), |error| error.raw_os_error() == Some(libc::ENOTEMPTY))
}

fn remove_group(path: &Path) -> io::Result<bool> {
    // A process leaves its group a moment after its end was reported.
    until_ended(|| fs::remove_dir(path), |error| error.raw_os_error() == Some(libc::EBUSY))
}

fn disable(name: &str) -> io::Result<bool> {
    let (path, text) = name.split_once(' ').ok_or_else(|| io::Error::other("it names no controllers"))?;
    match fs::write(path, text) {
        Err(error) if is_absent(&error) => Ok(false),
        done => done.map(|()| true),
    }
}

/// Repeat a removal while processes of the run may end. Return false if there is nothing to remove.
fn until_ended(
    remove: impl Fn() -> io::Result<()>,
    is_used: impl Fn(&io::Error) -> bool,
) -> io::Result<bool> {
    let deadline = Instant::now() + ENDING;
    loop {
        match remove() {
            Ok(()) => return Ok(true),
            Err(error) if is_absent(&error) => return Ok(false),
            Err(error) if !is_used(&error) || Instant::now() > deadline => return Err(error),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Remove the segments with a key, unless a process uses one of them.
fn remove_segments(key: i64) -> io::Result<bool> {
    let deadline = Instant::now() + ENDING;
    loop {
        let segments = segments(key as i32)?;
        if let Some(used) = segments.iter().find(|segment| segment.is_used()) {
            if Instant::now() > deadline {
                let text = format!("it is still in use (process {} made it)", used.creator);
                return Err(io::Error::other(text));
            }
            std::thread::sleep(PAUSE);
            continue;
        }
        for segment in &segments {
            remove_segment(segment.id)?;
        }
        return Ok(!segments.is_empty());
    }
}

struct Segment {
    id: i32,
    creator: i32,
    attached: u64,
}

impl Segment {
    fn is_used(&self) -> bool {
        self.attached > 0 || Path::new(&format!("/proc/{}", self.creator)).exists()
    }
}

/// The segments with a key (proc(5): key shmid perms size cpid lpid nattch …).
fn segments(key: i32) -> io::Result<Vec<Segment>> {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [found, id, _, _, creator, _, attached, ..] = fields.as_slice() else { return None };
        (found.parse::<i32>().ok()? == key).then_some(())?;
        Some(Segment {
            id: id.parse().ok()?,
            creator: creator.parse().ok()?,
            attached: attached.parse().ok()?,
        })
    };
    Ok(io::read_to_string(File::open(SEGMENTS)?)?.lines().filter_map(row).collect())
}

#[cfg(test)]
#[path = "../../tests/unit/agent/resources.rs"]
mod tests;
