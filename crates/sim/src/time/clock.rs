//! The simulation's clock.

use super::{Agenda, Ns, Random};

/// Virtual time of a simulation, and its agenda.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Time of the current event.
    pub now: Ns,
    /// Maximum time, at which the simulation ends.
    pub horizon: Ns,
    /// Length of a tick.
    pub tick_ns: Ns,
    /// The next event of each CPU, and of the machine.
    pub agenda: Agenda,
    pub random: Random,
    /// Draws of the cores' speeds, which are independent of all other draws under the same seed.
    pub speeds: Random,
}

impl Clock {
    /// First tick after `now` in the periodic series of ticks that contains the time `tick`.
    #[inline]
    pub fn next_tick(&self, tick: Ns, now: Ns) -> Ns {
        tick + ((now - tick) / self.tick_ns + 1) * self.tick_ns
    }
}
