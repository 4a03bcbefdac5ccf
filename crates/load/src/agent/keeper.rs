//! The keeper: starts the worker, passes signals on, and undoes the changes of a worker that was killed.

use std::fs;
use std::io;
use std::process::ExitCode;

use nix::sys::signal::Signal;
use nix::unistd::{dup2_stdin, dup2_stdout};

use super::session::Session;
use super::{Arguments, place, recovery};
use crate::error::LoadError;
use crate::launcher::events::Events;
use crate::noise::remove_dead_traces;
use crate::output;
use crate::strays::kill_descendants;
use crate::sys::process::{self, Forked, How, Pid};

/// Run the agent until its controller ends it; return the exit status.
pub fn run(arguments: &Arguments) -> Result<ExitCode, LoadError> {
    let mut events = Events::new().map_err(LoadError::system("receiving signals"))?;
    process::adopt_orphans().map_err(LoadError::system("adopting orphans"))?;
    let _lock = arguments.folder.as_deref().map(place::lock_folder).transpose()?;
    if let Some(folder) = &arguments.folder {
        place::remove_dead_folders(folder);
    }
    let keeper = process::own_pid();
    match process::fork().map_err(LoadError::system("starting the worker"))? {
        Forked::Child => {
            drop(events);
            let status = match worker(arguments, keeper) {
                Ok(()) => 0,
                Err(error) => {
                    output::complain(&error);
                    1
                }
            };
            process::exit_now(status);
        }
        Forked::Parent(worker) => {
            // The controller notices the end of the worker by the end of the output.
            let nothing = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
            dup2_stdin(&nothing).and_then(|()| dup2_stdout(&nothing)).map_err(io::Error::from)?;
            let how = events.relay(worker)?;
            if how != How::Exited(0) {
                kill_descendants(&[]);
                // Failures stay in the journals.
                let _ = recovery::recover(&arguments.journals());
                remove_dead_traces();
            }
            arguments.delete_folder();
            Ok(if how == How::Exited(0) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

fn worker(arguments: &Arguments, keeper: Pid) -> Result<(), LoadError> {
    process::die_with(keeper, Signal::SIGTERM).map_err(LoadError::system("watching the keeper"))?;
    let ended = Session::new(arguments).and_then(Session::serve);
    if process::parent_pid() != keeper {
        arguments.delete_folder();
    }
    ended.map_err(LoadError::system("serving the controller"))
}
