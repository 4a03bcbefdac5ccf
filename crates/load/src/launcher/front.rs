//! The front: starts the supervisor, passes signals on, and relays the exit status.

use nix::sys::signal::Signal;

use super::events::Events;
use super::order::{Guardian, Order};
use super::supervisor;
use crate::error::LoadError;
use crate::strays::kill_descendants;
use crate::sys::process::{self, Forked, How};

/// Exit status of the launcher's failures, as of timeout(1) and env(1).
pub const LAUNCHER_FAILED: u8 = 125;

/// Launch a command and wait for its end; return the exit status. `print_error` shows an error of the supervisor,
/// which runs in a separate process.
///
/// Must be called while the process has one thread.
pub fn launch(order: &Order, print_error: fn(&LoadError)) -> Result<u8, LoadError> {
    order.wanted.check().map_err(LoadError::Usage)?;
    let servers = order.servers().map_err(LoadError::Usage)?;
    let parent = process::parent_pid();
    let mut events = Events::new().map_err(LoadError::system("receiving signals"))?;
    guard(&mut events, order.guardian(), parent)?;
    process::adopt_orphans().map_err(LoadError::system("adopting orphans"))?;
    let front = process::own_pid();
    match process::fork().map_err(|error| LoadError::Launch(crate::limits::fork_failure(&error)))? {
        Forked::Child => {
            let status = supervisor::run(order, &servers, front).unwrap_or_else(|error| {
                print_error(&error);
                status_of(&error)
            });
            process::exit_now(status.into());
        }
        Forked::Parent(supervisor) => relay(&mut events, supervisor, order.keep_strays),
    }
}

/// The launcher's exit status for an error.
fn status_of(error: &LoadError) -> u8 {
    match error {
        LoadError::Exec { status, .. } => *status,
        LoadError::Interrupted(signal) => 128 + *signal as u8,
        _ => LAUNCHER_FAILED,
    }
}

/// Make the end of the guardian an event.
fn guard(events: &mut Events, guardian: Guardian, parent: process::Pid) -> Result<(), LoadError> {
    let gone = || LoadError::Launch("the process that started schedload has ended already".to_owned());
    match guardian {
        Guardian::Nobody => return Ok(()),
        Guardian::ThisParent(expected) if expected != parent => return Err(gone()),
        Guardian::Parent | Guardian::ThisParent(_) => {}
    }
    if events.watch(parent).is_err() {
        // Before Linux 5.3 there is no descriptor of a process; this signal comes when the parent's thread ends.
        process::die_with_parent(Signal::SIGTERM).map_err(LoadError::system("watching the parent"))?;
    }
    // The present parent is not the process that is watched: the starter has ended.
    if process::parent_pid() == parent { Ok(()) } else { Err(gone()) }
}

/// Wait for the end of the supervisor; return its exit status. `keeps`: the supervisor decided which processes remain.
fn relay(events: &mut Events, supervisor: process::Pid, keeps: bool) -> Result<u8, LoadError> {
    let how = events.relay(supervisor)?;
    if !keeps || matches!(how, How::Killed(_)) {
        kill_descendants(&[]);
    }
    match how {
        How::Exited(code) => Ok(code as u8),
        How::Killed(signal) => {
            let name = crate::sys::signals::name(signal);
            Err(LoadError::Launch(format!("the supervisor was killed by {name}")))
        }
    }
}
