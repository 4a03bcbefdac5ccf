//! Start of a command in a separate session, with attributes. A pipe reports failures before the exec.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use nix::sys::signal::Signal;
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout, setsid};

use super::attributes::InEffect;
use super::wanted::Wanted;
use crate::limits;
use crate::sys::process::{self, Forked, Pid};
use crate::sys::{channel, signals};

/// Exit status when the command was found but could not be executed (POSIX shells).
const NOT_EXECUTABLE: u8 = 126;
/// Exit status when the command was not found (POSIX shells).
const NOT_FOUND: u8 = 127;

/// A started command.
#[derive(Debug)]
pub struct Started {
    /// Process of the command, also the leader of its session.
    pub pid: Pid,
    /// Attributes of the command, read back before the exec.
    pub attributes: InEffect,
}

/// Why a command did not start.
#[derive(Debug, PartialEq, Eq)]
pub enum NotStarted {
    /// Attributes could not be applied; the text names the limit.
    Attributes(String),
    /// The exec failed; the exit status that shells give, and the text.
    Exec(u8, String),
    /// The system lacks resources for another process.
    System(String),
}

/// Standard streams of a command.
#[derive(Debug, Clone, Copy)]
pub enum Streams<'f> {
    /// The launcher's streams.
    Inherited,
    /// Empty input; both outputs go to a file.
    Into(&'f OwnedFd),
}

/// Start `argv`; return when the exec has succeeded or failed.
pub fn start(argv: &[String], wanted: &Wanted, streams: Streams<'_>) -> Result<Started, NotStarted> {
    let system = |error: io::Error| NotStarted::System(error.to_string());
    let (reader, writer) = channel::pipe().map_err(system)?;
    let supervisor = process::own_pid();
    match process::fork().map_err(|error| NotStarted::System(limits::fork_failure(&error)))? {
        Forked::Child => {
            drop(reader);
            let mut status = File::from(writer);
            let (kind, text) = become_command(argv, wanted, streams, supervisor, &mut status);
            let _ = status.write_all(format!("{kind}{text}").as_bytes());
            process::exit_now(LOST);
        }
        Forked::Parent(pid) => {
            drop(writer);
            let mut text = String::new();
            File::from(reader).read_to_string(&mut text).map_err(system)?;
            understand(&text, pid).inspect_err(|_| drop(process::wait(pid)))
        }
    }
}

/// Exit code of a child that did not become a command. The parent reads the status instead.
const LOST: i32 = 125;

/// The child's side. On success the function does not return, and the status contains `+` and the attributes.
fn become_command(
    argv: &[String],
    wanted: &Wanted,
    streams: Streams<'_>,
    supervisor: Pid,
    status: &mut File,
) -> (char, String) {
    let prepared = process::die_with(supervisor, Signal::SIGKILL)
        .and_then(|()| Ok(setsid().map(drop)?))
        .and_then(|()| redirect(streams))
        .and_then(|()| signals::unblock_all());
    if let Err(error) = prepared {
        return ('s', error.to_string());
    }
    signals::restore_pipe();
    let in_effect = match wanted.apply() {
        Ok(in_effect) => in_effect,
        Err(text) => return ('a', text),
    };
    let sent = serde_json::to_string(&in_effect).map_err(io::Error::other);
    if let Err(error) = sent.and_then(|text| status.write_all(format!("+{text}\n").as_bytes())) {
        return ('s', error.to_string());
    }
    let error = process::exec(argv);
    let kind = if error.kind() == io::ErrorKind::NotFound { 'n' } else { 'x' };
    (kind, format!("{}: {error}", argv[0]))
}

fn redirect(streams: Streams<'_>) -> io::Result<()> {
    let Streams::Into(output) = streams else { return Ok(()) };
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(output)?;
    Ok(dup2_stderr(output)?)
}

/// The parent's side of the status: `+attributes`, possibly followed by why the exec failed, or only a failure.
fn understand(text: &str, pid: Pid) -> Result<Started, NotStarted> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let failure = if first.starts_with('+') { rest } else { text };
    if let Some(kind) = failure.chars().next() {
        let reason = failure[1..].to_owned();
        return Err(match kind {
            'a' => NotStarted::Attributes(reason),
            'n' => NotStarted::Exec(NOT_FOUND, reason),
            'x' => NotStarted::Exec(NOT_EXECUTABLE, reason),
            _ => NotStarted::System(reason),
        });
    }
    let attributes = first.strip_prefix('+').and_then(|json| serde_json::from_str(json).ok());
    let attributes =
        attributes.ok_or_else(|| NotStarted::System("the process died before the exec".to_owned()))?;
    Ok(Started { pid, attributes })
}
