//! Interruptions of CPUs: how many, how long, and their causes.
//!
//! ```text
//! measure    threads of the loop, what is recorded beside them, and the document of both
//! spin       the loop that notices gaps
//! instances  folders of the kernel's trace
//! tracing    private instances that record events, and requests of other CPUs
//! trace      the events of a text, and switches that it lacks
//! requests   the requests of a text, and the interrupts that answer them
//! explained  gaps with their parts
//! join       gaps and events on one clock
//! walk       the events of one gap
//! observed   counters of the kernel around the measurement
//! windows    the same in windows of 0.1 s, without a trace
//! steal      time that the hypervisor takes, jumps of the counter
//! summary    the tables of the document
//! document   the document
//!
//! guardian            removes the instance when the measurement ends in any way
//!   └─ measurement    main thread: empties the trace from another CPU; one thread of the loop on each CPU
//! ```
//! The measurement removes the instance when the guardian is killed. When both are killed, the agent or the next command
//! removes the instance.

mod document;
mod explained;
mod instances;
mod join;
mod measure;
mod observed;
mod requests;
mod spin;
mod steal;
mod summary;
mod trace;
mod tracing;
mod walk;
mod windows;

use nix::sys::signal::Signal;

use crate::agent::place::traces;
use crate::error::LoadError;
use crate::output;
use crate::sys::{process, signals};
use document::Document;
pub use measure::Order;
use measure::measure;

/// Remove the traces of killed measurements.
pub fn remove_dead_traces() {
    instances::remove_dead(&traces());
}

/// Measure, and pass the document to `print`. Return the exit status.
///
/// With a trace, a child measures, and this process removes the trace's instance when the child ends in any way.
pub fn run(order: &Order, print: impl Fn(&Document) -> Result<(), LoadError>) -> Result<u8, LoadError> {
    signals::catch_stops()?;
    let prepared = match order.untraced {
        false => instances::mount().map_err(|error| format!("tracefs cannot be mounted: {error}")),
        true => Err("not asked for".to_owned()),
    };
    if prepared.is_err() {
        return measure(order, prepared.map(|()| (String::new(), Vec::new())))
            .and_then(|done| print(&done))
            .map(|()| 0);
    }
    let records = traces();
    let removed = instances::remove_dead(&records);
    let guardian = process::own_pid();
    let name = instances::name_of(guardian);
    instances::record(&name, &records)
        .map_err(LoadError::system(format!("recording the trace instance in {}", records.display())))?;
    match process::fork()? {
        process::Forked::Child => {
            let watched = process::die_with(guardian, Signal::SIGTERM).map_err(LoadError::from);
            let measured = watched.and_then(|()| measure(order, Ok((name, removed))));
            let status = match measured.and_then(|document| print(&document)) {
                Ok(()) => 0,
                Err(error) => {
                    output::complain(&error);
                    error.status()
                }
            };
            process::exit_now(status.into());
        }
        process::Forked::Parent(child) => {
            let ended = loop {
                if let Some(signal) = signals::requested() {
                    process::kill(child, signal);
                }
                match process::wait(child) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    ended => break ended?,
                }
            };
            instances::remove(&name, &records)
                .map_err(LoadError::system(format!("removing the trace instance {name}")))?;
            match ended.how {
                process::How::Exited(status) => Ok(status as u8),
                process::How::Killed(signal) => {
                    Err(LoadError::Task(format!("the measurement was killed by {}", signals::name(signal))))
                }
            }
        }
    }
}
