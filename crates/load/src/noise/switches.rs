//! Switches that the trace lacks.
//!
//! Linux 6.18 records no switch from the idle task to another task now and then (5 in 18,000 events of a virtual machine),
//! and its buffers count no loss. The next event names the task that runs.

use super::trace::{Current, Event, Leaves, What, task_name};

/// State from one event of a CPU to the next.
#[derive(Debug, Default)]
pub struct Switches {
    /// Process number of the task that runs; `None` before the first event and after a loss.
    running: Option<i32>,
    /// Time of the last event, after which the CPU was to switch.
    due: Option<u64>,
}

impl Switches {
    /// Follow an event at `at`. Return the missing switch before the event, if the event shows another task than the last
    /// switch.
    pub fn follow(&mut self, at: u64, current: &Current<'_>, what: &What) -> Option<Event> {
        let from = self.running.replace(current.pid).filter(|running| *running != current.pid);
        let missing = from.map(|from| Event {
            at: self.due.unwrap_or(at),
            what: What::Switch { from, to: current.pid, name: task_name(current.name), leaves: Leaves::Done },
        });
        if let What::Switch { to, .. } = what {
            self.running = Some(*to);
        }
        self.due = current.is_to_switch.then_some(at);
        missing
    }

    /// Events are missing: the running task is not known.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
#[path = "../../tests/unit/noise/switches.rs"]
mod tests;
