//! Configuration of a simulation.

mod groups;

use std::collections::BTreeMap;

use crate::kernel::Change;
use crate::tasks::Attributes;
use crate::time::Ns;

pub use groups::{ControlGroup, GroupSettings};

/// Default of [`Config::samples`].
const SAMPLES: usize = 1 << 20;

/// Configuration of a simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Random seed of the phases of ticks, of addresses and of the speeds of cores. The program has a separate seed for its
    /// draws.
    pub seed: u64,
    /// Values at boot of tunables that differ from the kernel's defaults.
    pub tunables: Vec<(String, i64)>,
    /// Tunables that change while the program runs.
    pub changes: Vec<Change>,
    /// The kernel's command line.
    pub command_line: String,
    /// Maximum virtual time, at which the simulation ends.
    pub horizon_ns: Option<Ns>,
    /// Attributes of the program's groups, by name.
    pub groups: BTreeMap<String, Attributes>,
    /// Control groups below the root, see [`Attributes::control_group`].
    pub control_groups: Vec<ControlGroup>,
    /// Attributes of the main task, which starts the others.
    pub main: Attributes,
    /// Maximum number of samples of each series. A longer series keeps a random selection.
    pub samples: usize,
    /// Memory at which a run ends with an error because of the children that its tasks fork, by an estimate.
    pub memory_bytes: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 0,
            tunables: Vec::new(),
            changes: Vec::new(),
            command_line: String::new(),
            horizon_ns: None,
            groups: BTreeMap::new(),
            control_groups: Vec::new(),
            main: Attributes::default(),
            samples: SAMPLES,
            memory_bytes: u64::MAX,
        }
    }
}
