//! The guard: a process that returns a machine to its default kernel when nobody confirms the boot.
//!
//! The kernel starts the guard in place of `/init` (`rdinit=`), so that the guard works with every initial
//! file system. The first process starts the guard and becomes `/init`. The guard keeps the initial file
//! system as its root: the guard needs no file of the guarded system, and works when the init of that system
//! hangs.

use std::ffi::CString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use nix::sys::statfs::{FsType, TMPFS_MAGIC, statfs};

use crate::error::LoadError;
use crate::sys::restart::{self, Into};
use crate::sys::{clock, process};

/// Path of the program in the initial file system.
const PROGRAM: &str = "/schedlab/guard";

/// File with the seconds in which the boot has to be confirmed.
const SECONDS: &str = "/schedlab/seconds";

/// First argument of the guard. systemd does not end a process whose name begins with `@` when it leaves the initial file
/// system (systemd.io, "Storage Daemons for the Root File System").
const NAME: &str = "@schedlab-guard";

/// `RAMFS_MAGIC` of `include/uapi/linux/magic.h`.
const RAMFS: FsType = FsType(0x8584_58f6);

/// Run as the guard or as the first process if this program was started in one of these roles.
pub fn run_if_started_as_guard() -> Option<ExitCode> {
    let mut arguments = std::env::args();
    match arguments.next()?.as_str() {
        PROGRAM if process::own_pid() == 1 => Some(become_init(arguments.collect())),
        NAME => Some(watch()),
        _ => None,
    }
}

/// Start the guard, and continue as `/init`. If the guard cannot be started, the boot continues without it.
fn become_init(arguments: Vec<String>) -> ExitCode {
    let _ = Command::new(PROGRAM).arg0(NAME).spawn();
    let mut words = vec!["/init".to_owned()];
    words.extend(arguments);
    let words: Vec<_> = words.into_iter().filter_map(|word| CString::new(word).ok()).collect();
    let _ = nix::unistd::execv(c"/init", &words);
    ExitCode::FAILURE
}

/// Wait, and restart the machine. Does nothing outside an initial file system.
fn watch() -> ExitCode {
    let seconds = fs::read_to_string(SECONDS).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let in_memory = statfs("/").is_ok_and(|root| is_initial(root.filesystem_type()));
    let (Some(seconds), true, 1) = (seconds, in_memory, process::parent_pid()) else {
        return ExitCode::FAILURE;
    };
    clock::sleep_ns(seconds.saturating_mul(1_000_000_000));
    restart::sync();
    restart::now(Into::Default);
    ExitCode::FAILURE
}

/// Whether a file system of this type can be a kernel's first (Documentation/filesystems/ramfs-rootfs-initramfs.rst).
fn is_initial(kind: FsType) -> bool {
    [RAMFS, TMPFS_MAGIC].contains(&kind)
}

/// End the guards of this boot; return their number.
pub fn confirm() -> Result<usize, LoadError> {
    let entries = fs::read_dir("/proc").map_err(LoadError::system("reading /proc"))?;
    let guards: Vec<_> = entries
        .flatten()
        .filter(|entry| fs::read(entry.path().join("cmdline")).is_ok_and(|line| is_guard(&line)))
        .filter_map(|entry| Path::new(&entry.file_name()).to_str()?.parse().ok())
        .collect();
    guards.iter().for_each(|pid| process::kill(*pid, libc::SIGKILL));
    Ok(guards.len())
}

/// Whether `/proc/PID/cmdline` belongs to a guard (proc(5): arguments that NUL bytes end).
fn is_guard(command_line: &[u8]) -> bool {
    command_line.split(|byte| *byte == 0).next() == Some(NAME.as_bytes())
}

#[cfg(test)]
#[path = "../../tests/unit/boot/guard.rs"]
mod tests;
