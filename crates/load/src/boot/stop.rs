//! An orderly end of the running system, and the restart.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::request::BootId;
use crate::error::LoadError;
use crate::sys::clock;
use crate::sys::process::{self, Forked};
use crate::sys::restart::{self, Into};

/// Time for the caller to read that the restart begins, before its connection ends.
const FAREWELL_NS: u64 = 500_000_000;

/// Time for processes to end after SIGTERM where no service manager stops them.
const GRACE_NS: u64 = 3_000_000_000;

/// Folder that exists where systemd is the init (sd_booted(3)).
const SYSTEMD: &str = "/run/systemd/system";

/// File that contains 1 when a kernel is in memory for kexec (Documentation/ABI/testing/sysfs-kernel-kexec…).
const IS_LOADED: &str = "/sys/kernel/kexec_loaded";

/// Restart the machine into the loaded kernel or its default kernel, unless the machine is not in the given
/// boot.
///
/// Returns before the restart begins; a child continues in a separate process group. systemd stops its
/// services where systemd runs. Elsewhere all processes get SIGTERM, then SIGKILL, and file systems become
/// read-only.
pub fn restart(boot: &BootId, into: Into) -> Result<(), LoadError> {
    boot.require_current()?;
    match into {
        Into::Loaded if !is_loaded() => {
            return Err(LoadError::Boot("no kernel is loaded: nothing was changed".to_owned()));
        }
        Into::Loaded => {}
        // An init may start a loaded kernel instead of the firmware.
        Into::Default if is_loaded() => restart::unload().map_err(LoadError::system("unloading a kernel"))?,
        Into::Default => {}
    }
    match process::fork().map_err(LoadError::system("starting a process"))? {
        Forked::Parent(_) => Ok(()),
        Forked::Child => {
            // Without a separate session, the end of the connection would end the child.
            let _ = nix::unistd::setsid();
            let _ = let_go();
            clock::sleep_ns(FAREWELL_NS);
            // A restart by another process in the meantime would have ended this process.
            if !Path::new(SYSTEMD).exists() || !ask_systemd(into) {
                stop_processes();
                make_read_only();
                restart::now(into);
            }
            process::exit_now(1)
        }
    }
}

/// Release the caller's descriptors: sshd waits until no process has these descriptors open.
fn let_go() -> std::io::Result<()> {
    let nothing = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    nix::unistd::dup2_stdin(&nothing)?;
    nix::unistd::dup2_stdout(&nothing)?;
    nix::unistd::dup2_stderr(&nothing)?;
    Ok(())
}

fn is_loaded() -> bool {
    fs::read_to_string(IS_LOADED).is_ok_and(|text| text.trim() == "1")
}

fn ask_systemd(into: Into) -> bool {
    let mut command = Command::new("systemctl");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.args(systemd_arguments(into)).status().is_ok_and(|status| status.success())
}

fn systemd_arguments(into: Into) -> [&'static str; 2] {
    let verb = match into {
        Into::Loaded => "kexec",
        Into::Default => "reboot",
    };
    ["--no-block", verb]
}

/// Stop all processes except init and this process (kill(2), pid −1).
fn stop_processes() {
    process::kill(-1, libc::SIGTERM);
    clock::sleep_ns(GRACE_NS);
    process::kill(-1, libc::SIGKILL);
}

/// Write all data, and make the file systems read-only where the kernel allows such requests.
fn make_read_only() {
    restart::sync();
    // Documentation/admin-guide/sysrq.rst, "u". Without this sync, the next mount replays the journal of the
    // file system.
    let _ = fs::write("/proc/sysrq-trigger", "u");
    restart::sync();
}

#[cfg(test)]
#[path = "../../tests/unit/boot/stop.rs"]
mod tests;
