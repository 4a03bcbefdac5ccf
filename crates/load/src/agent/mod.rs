//! `schedload agent`: changes a machine for a controller, runs its trials, and leaves the machine as it was.
//!
//! ```text
//! sshd or schedlab
//!   └─ keeper     passes signals on; undoes the changes of a worker that was killed
//!        └─ worker     speaks the protocol; journal, lock, lease
//!             └─ schedload exec …     a trial
//! ```
//! In a guest, the requests are a file of the guest's initial file system, and the replies go to a serial port
//! (`--batch`). Guests are discarded after their trials, so that these requests begin no run, and need no journal, lock
//! or lease.
//!
//! The worker ends at the end of its input, at a stop signal, when the keeper dies, and when the lease expires. It then
//! ends the trial and puts every value back. A SIGKILL to keeper and worker at once leaves the journal and the folder,
//! which the next agent on the machine undoes and removes.

mod changes;
mod files;
mod journal;
mod lock;
pub(crate) mod place;
mod protocol;
mod records;
mod recovery;
mod resources;
mod session;
mod state;
mod trial;
mod writers;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use nix::unistd::{dup2_stdin, dup2_stdout};

use crate::error::LoadError;
use crate::launcher::events::{Event, Events};
use crate::strays::kill_descendants;
use crate::sys::process::{self, Forked, How, Pid};

/// Change this machine and run trials for a controller, which speaks JSON lines on standard input and output.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder for the tunables in place of the kernel's files.
    #[arg(long, value_name = "FOLDER", default_value = "/")]
    root: PathBuf,
    /// Private folder of the agent: the working folder of trials, deleted at the end.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Folder of the journals [default: journal in $SCHEDLAB_STATE or /var/lib/schedlab; in $XDG_STATE_HOME/schedlab for
    /// users other than root].
    #[arg(long, value_name = "FOLDER")]
    journals: Option<PathBuf>,
    /// Process of the controller on this machine; the agent ends with this process too.
    #[arg(long, value_name = "PID")]
    controller: Option<Pid>,
    /// Handle each request after the reply to the previous request, and compress each reply (gzip): standard input is a
    /// file with all requests, standard output a slow line.
    #[arg(long)]
    batch: bool,
}

impl Arguments {
    fn journals(&self) -> PathBuf {
        self.journals.clone().unwrap_or_else(place::journals)
    }

    fn delete_folder(&self) {
        if let Some(folder) = &self.folder {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

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
                    crate::commands::complain(&error);
                    1
                }
            };
            process::exit_now(status);
        }
        Forked::Parent(worker) => {
            // The controller notices the end of the worker by the end of the output.
            let nothing = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
            dup2_stdin(&nothing).and_then(|()| dup2_stdout(&nothing)).map_err(io::Error::from)?;
            let how = keep(&mut events, worker)?;
            if how != How::Exited(0) {
                kill_descendants(&[]);
                // Failures stay in the journals.
                let _ = recovery::recover(&arguments.journals());
                crate::noise::remove_dead_traces();
            }
            arguments.delete_folder();
            Ok(if how == How::Exited(0) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

fn worker(arguments: &Arguments, keeper: Pid) -> Result<(), LoadError> {
    process::die_with_parent(libc::SIGTERM).map_err(LoadError::system("watching the keeper"))?;
    if process::parent_pid() != keeper {
        return Err(LoadError::Interrupted(libc::SIGTERM));
    }
    let ended = session::Session::new(arguments).and_then(session::Session::serve);
    if process::parent_pid() != keeper {
        arguments.delete_folder();
    }
    ended.map_err(LoadError::system("serving the controller"))
}

/// Wait for the worker's end, and pass signals on to the worker.
fn keep(events: &mut Events, worker: Pid) -> Result<How, LoadError> {
    loop {
        match events.next(None).map_err(LoadError::system("waiting"))? {
            Event::Stop(signal) => process::kill(worker, signal),
            Event::Gone | Event::Time => {}
            Event::Child => {
                while let Ok(Some(ended)) = process::wait_no_hang(-1) {
                    if ended.pid == worker {
                        return Ok(ended.how);
                    }
                }
            }
        }
    }
}
