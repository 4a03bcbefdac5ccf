//! The lock of a machine: one run at a time. Two runs would disturb each other's trials and tunables.
//!
//! The lock has two parts, and a run holds both:
//!
//! - A name of the kernel: an abstract Unix socket (unix(7)). The name is not a file, so nobody can delete or replace it.
//!   All users of a machine share it, but a container with its own network does not see it.
//! - A locked file in a folder that only its owner can write. Containers that share the folder see it.
//!
//! The kernel releases both when the process ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::fcntl::Flock;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, connect, getsockopt, socket, sockopt::PeerCredentials,
};
use nix::unistd::geteuid;

use super::place;
use super::protocol::{Kind, Refusal};
use crate::sys::files::{lock, private};
use crate::sys::process::{self, Pid};

/// Name of the abstract socket.
const NAME: &str = "schedlab-machine";
/// Name of the locked file.
const FILE: &str = "machine.lock";
/// Time for the agent of a killed run to end.
const ENDING: Duration = Duration::from_millis(500);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// The lock of this machine.
#[derive(Debug)]
pub struct MachineLock {
    _name: UnixListener,
    _file: Flock<File>,
}

impl MachineLock {
    /// Lock this machine.
    pub fn take() -> Result<Self, Refusal> {
        let is_busy =
            |taken: &Result<Self, Refusal>| taken.as_ref().is_err_and(|refusal| refusal.kind == Kind::Busy);
        patiently(|| Self::take_from(&place::locks(), NAME), is_busy)
    }

    fn take_from(folder: &Path, name: &str) -> Result<Self, Refusal> {
        let busy = |holder: &str| {
            Refusal::new(Kind::Busy, format!("another run is measuring on this machine ({holder})"))
        };
        let Some(socket) = claim(name)? else { return Err(busy(&owner(name))) };
        let path = folder.join(FILE);
        let fault = |error| unusable(&path, &error);
        private(folder, 0o700).map_err(fault)?;
        let Some(mut file) = lock_file(&path).map_err(fault)? else { return Err(busy(&written(&path))) };
        file.set_len(0).and_then(|()| writeln!(file, "{}", started_by(process::own_pid()))).map_err(fault)?;
        Ok(Self { _name: socket, _file: file })
    }

    /// The holder of the lock, as in `process 17 of user root`; `None` on a free machine. Creates nothing.
    pub fn holder() -> Result<Option<String>, Refusal> {
        patiently(|| Self::holder_of(&place::locks(), NAME), |holder| matches!(holder, Ok(Some(_))))
    }

    fn holder_of(folder: &Path, name: &str) -> Result<Option<String>, Refusal> {
        if claim(name)?.is_none() {
            return Ok(Some(owner(name)));
        }
        let path = folder.join(FILE);
        if fs::symlink_metadata(&path).is_err() {
            return Ok(None);
        }
        let fault = |error| unusable(&path, &error);
        private(folder, 0o700).map_err(fault)?;
        let file = lock_file(&path).map_err(fault)?;
        Ok(file.is_none().then(|| written(&path)))
    }
}

/// Try again for a moment: the agent of a killed run releases the lock after its last undo.
fn patiently<T>(attempt: impl Fn() -> T, is_busy: impl Fn(&T) -> bool) -> T {
    let deadline = Instant::now() + ENDING;
    loop {
        let result = attempt();
        if !is_busy(&result) || Instant::now() > deadline {
            return result;
        }
        std::thread::sleep(PAUSE);
    }
}

fn unusable(path: &Path, error: &io::Error) -> Refusal {
    Refusal::new(Kind::Lock, format!("{} cannot be the lock of this machine: {error}", path.display()))
}

/// Claim the name; `None` when another process has the name.
fn claim(name: &str) -> Result<Option<UnixListener>, Refusal> {
    let claimed = SocketAddr::from_abstract_name(name).and_then(|address| UnixListener::bind_addr(&address));
    match claimed {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
        Err(error) => Err(unusable(&PathBuf::from(format!("@{name}")), &error)),
    }
}

/// The process that listens at the name, as the kernel reports it. The process never accepts a connection.
fn owner(name: &str) -> String {
    let ask = || -> nix::Result<(i32, u32)> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let question = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
        connect(std::os::fd::AsRawFd::as_raw_fd(&question), &UnixAddr::new_abstract(name.as_bytes())?)?;
        let peer = getsockopt(&question, PeerCredentials)?;
        Ok((peer.pid(), peer.uid()))
    };
    let Ok((pid, uid)) = ask() else { return "a process that does not answer".to_owned() };
    match pid {
        0 => format!("a process of user {} in another container", user(uid)),
        pid => format!("process {} of user {}", started_by(pid), user(uid)),
    }
}

/// The process that a user knows: the controller on an agent's command line, otherwise the agent.
fn started_by(agent: Pid) -> Pid {
    let words = fs::read_to_string(format!("/proc/{agent}/cmdline")).unwrap_or_default();
    words.split('\0').find_map(|word| word.strip_prefix("--controller=")?.parse().ok()).unwrap_or(agent)
}

/// The name of a user in /etc/passwd, otherwise the number. getpwuid(3) would load libraries of the machine, which a static
/// program cannot.
fn user(uid: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number.parse() == Ok(uid)).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| uid.to_string())
}

/// The process in the lock file of a live run.
fn written(path: &Path) -> String {
    let text: String = fs::read_to_string(path).unwrap_or_default().trim().chars().take(20).collect();
    if text.is_empty() { "an unknown process".to_owned() } else { format!("process {text}") }
}

/// Create and lock the file; `None` while another process has the lock. An error unless the path names a regular file of
/// this user with one link: the holder writes into the file, and another user must not choose the file that changes.
fn lock_file(path: &Path) -> io::Result<Option<Flock<File>>> {
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
        let opened = file.metadata()?;
        if !opened.is_file() || opened.nlink() > 1 || opened.uid() != geteuid().as_raw() {
            let text = "not a regular file of this user with one link";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        let Some(file) = lock(file)? else { return Ok(None) };
        // Another process may have deleted the file between opening and locking, and have locked a new file.
        let named = fs::symlink_metadata(path).ok();
        if named.is_some_and(|named| (named.dev(), named.ino()) == (opened.dev(), opened.ino())) {
            return Ok(Some(file));
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/agent/lock.rs"]
mod tests;
