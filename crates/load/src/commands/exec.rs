//! `schedload exec`: runs a command under supervision.
//!
//! Exit status: the command's; 128 + n when signal n killed it or stopped the launcher; 124 when it exceeded the time
//! limit; 125 when the launcher failed (attributes refused, server not ready, wrong usage); 126 when the
//! command could not be executed; 127 when it was not found.

use std::process::ExitCode;

use crate::launcher::{LAUNCHER_FAILED, Order, launch};
use crate::output::complain;

pub(super) fn execute(order: &Order) -> ExitCode {
    let status = launch(order, complain).unwrap_or_else(|error| {
        complain(&error);
        LAUNCHER_FAILED
    });
    ExitCode::from(status)
}
