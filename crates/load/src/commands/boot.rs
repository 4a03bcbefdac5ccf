//! `schedload boot`: restarts a machine into a kernel under test, and back. Each request names the intended
//! boot.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::boot::{self, BootId};
use crate::error::LoadError;
use crate::output;
use crate::sys::restart::Into;

/// Restart this machine into another kernel for one boot. The default kernel does not change.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    request: Request,
}

#[derive(Debug, Subcommand)]
enum Request {
    /// Put a kernel into memory; the running system continues.
    Load {
        #[command(flatten)]
        boot: ForBoot,
        /// The kernel, an x86 bzImage.
        #[arg(long, value_name = "FILE")]
        image: PathBuf,
        /// Initial file system of the kernel.
        #[arg(long, value_name = "FILE")]
        initrd: Option<PathBuf>,
        /// Command line of the kernel.
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        command_line: String,
    },
    /// Stop this system and start the kernel in memory.
    Kexec(ForBoot),
    /// Stop this system and start the default kernel through the firmware.
    Reboot(ForBoot),
    /// End the guard, which would return this machine to its default kernel.
    Confirm(ForBoot),
}

#[derive(Debug, Args)]
struct ForBoot {
    /// The machine's /proc/sys/kernel/random/boot_id. In any other boot nothing happens.
    #[arg(long, value_name = "ID")]
    boot_id: BootId,
}

impl Arguments {
    pub(super) fn execute(&self) -> Result<(), LoadError> {
        match &self.request {
            Request::Load { boot, image, initrd, command_line } => {
                boot.boot_id.require_current()?;
                boot::load(image, initrd.as_deref(), command_line)
            }
            Request::Kexec(boot) => boot::restart(&boot.boot_id, Into::Loaded),
            Request::Reboot(boot) => boot::restart(&boot.boot_id, Into::Default),
            Request::Confirm(boot) => {
                boot.boot_id.require_current()?;
                let guards = boot::guard::confirm()?;
                output::print(&[format!("guards ended: {guards}")])
            }
        }
    }
}
