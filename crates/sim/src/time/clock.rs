//! The simulation's clock.

use super::{Agenda, Ns, Random};

/// Virtual time of a simulation, and what is due.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Time of the current event.
    pub now: Ns,
    /// Time at which the simulation ends at the latest.
    pub horizon: Ns,
    /// Length of a tick.
    pub tick_ns: Ns,
    /// The next event of each CPU, and of the machine as a whole.
    pub agenda: Agenda,
    pub random: Random,
}
