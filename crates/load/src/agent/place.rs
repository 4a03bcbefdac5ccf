//! Folders of the agent, and a description of the machine.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use nix::sys::utsname::uname;
use nix::unistd::geteuid;
use serde_json::{Value as Json, json};

use super::protocol::{Kind, PROTOCOL, Refusal};
use crate::sys::files;

/// Usual place of debugfs.
pub const DEBUGFS: &str = "/sys/kernel/debug";

/// The folder of journals. For root below `$SCHEDLAB_STATE` or /var/lib/schedlab; for other users below `$XDG_STATE_HOME`,
/// by default `$HOME/.local/state`. See also `python/schedlab/files/folders.py`.
///
/// Root's folder depends on no other variable: an agent without the variables of a killed agent must find its journal.
pub fn journals() -> PathBuf {
    state().join("journal")
}

/// The folder of records of trace instances ([`crate::noise`]), beside the journals.
pub fn traces() -> PathBuf {
    state().join("traces")
}

fn state() -> PathBuf {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if geteuid().is_root() {
        return folder("SCHEDLAB_STATE").unwrap_or_else(|| "/var/lib/schedlab".into());
    }
    let home = || folder("HOME").unwrap_or_else(|| "/".into()).join(".local/state");
    folder("XDG_STATE_HOME").unwrap_or_else(home).join("schedlab")
}

/// The folder of lock files: /run/schedlab for root, otherwise $XDG_RUNTIME_DIR/schedlab. Without a runtime folder of this
/// user (`su` keeps the previous user's variable), the folder of the state.
pub fn locks() -> PathBuf {
    let user = geteuid();
    if user.is_root() {
        return "/run/schedlab".into();
    }
    let runtime =
        env::var_os("XDG_RUNTIME_DIR").map_or_else(|| format!("/run/user/{user}").into(), PathBuf::from);
    let is_ours = fs::metadata(&runtime).is_ok_and(|state| state.uid() == user.as_raw());
    if is_ours { runtime.join("schedlab") } else { state() }
}

/// Name of the file in an agent's folder that the agent keeps locked.
const LOCK: &str = "agent.lock";

/// Age of a folder without a lock beyond which its controller no longer copies files to it.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);

/// Lock an agent's folder until both processes of the agent have ended, so that other agents do not remove it.
pub fn lock_folder(folder: &Path) -> io::Result<Flock<File>> {
    let file =
        OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(folder.join(LOCK))?;
    Flock::lock(file, FlockArg::LockSharedNonblock).map_err(|(_, error)| error.into())
}

/// Remove the folders beside `own` that belong to dead agents of this user.
pub fn remove_dead_folders(own: &Path) {
    let beside = own.parent().and_then(|parent| fs::read_dir(parent).ok());
    for entry in beside.into_iter().flatten().flatten() {
        if entry.path() != own
            && entry.file_name().to_str().is_some_and(is_folder_name)
            && is_dead(&entry.path())
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether a controller gives this name to the folder of an agent: `schedlab-` and 16 hexadecimal digits.
fn is_folder_name(name: &str) -> bool {
    name.strip_prefix("schedlab-")
        .is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Whether a path is a private folder of this user whose agent has ended, or never began.
fn is_dead(folder: &Path) -> bool {
    let Ok(state) = fs::symlink_metadata(folder) else { return false };
    if !state.is_dir() || state.uid() != geteuid().as_raw() || state.mode() & 0o077 != 0 {
        return false;
    }
    match OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW).open(folder.join(LOCK)) {
        Ok(file) => Flock::lock(file, FlockArg::LockExclusiveNonblock).is_ok(),
        Err(_) => {
            state.modified().ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age > ABANDONED)
        }
    }
}

/// The identity of this boot; empty where the kernel does not show it.
pub fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// The name of this machine.
pub fn host() -> String {
    uname().map_or_else(|_| String::new(), |machine| machine.nodename().to_string_lossy().into_owned())
}

/// The identity of this process's PID namespace; empty without /proc.
pub fn namespace() -> String {
    fs::read_link("/proc/self/ns/pid").map_or_else(|_| String::new(), |link| link.display().to_string())
}

/// A description of the agent and its machine.
pub fn hello() -> Result<Json, Refusal> {
    let failed = |error: io::Error| Refusal::new(Kind::System, error.to_string());
    let program = fs::read("/proc/self/exe").map_err(failed)?;
    let machine = uname().map_err(|error| failed(error.into()))?;
    let text = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
    Ok(json!({
        "protocol": PROTOCOL,
        "version": env!("CARGO_PKG_VERSION"),
        "checksum": crc32fast::hash(&program),
        "boot_id": boot_id(),
        "uid": geteuid().as_raw(),
        "machine": text(machine.machine()),
        "release": text(machine.release()),
        "hostname": text(machine.nodename()),
        "cpus": std::thread::available_parallelism().map_or(1, usize::from),
        "ticks_per_second": nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok().flatten(),
        "pid": crate::sys::process::own_pid(),
        "journals": journals(),
    }))
}

/// Mount debugfs at its usual place in a mount namespace of this process, unless debugfs is mounted. The mount ends with
/// this process and its children.
pub fn mount_debugfs() -> io::Result<()> {
    if has_debugfs() { Ok(()) } else { files::mount("debugfs", Path::new(DEBUGFS)) }
}

/// Whether debugfs is mounted at its usual place.
pub fn has_debugfs() -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts.lines().any(|line| line.split(' ').skip(1).take(2).eq([DEBUGFS, "debugfs"]))
}

#[cfg(test)]
#[path = "../../tests/unit/agent/place.rs"]
mod tests;
