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
mod groups;
mod hooks;
mod journal;
mod keeper;
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
use std::path::PathBuf;

use clap::Args;

use crate::sys::process::Pid;
pub use keeper::run;

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
