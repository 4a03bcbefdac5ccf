//! Where time goes on a machine besides the work itself.

mod memory;
mod smt;
mod warmth;

use schedlab_workload::Plan;

use crate::machine::{Machine, Topology};

pub(crate) use memory::{Memory, PAGE, Region, Touch};
pub(crate) use warmth::{Caches, Warmth};

/// Caches and memory of the machine, and the program's regions.
pub(crate) struct Physics {
    pub regions: Vec<Region>,
    pub memory: Memory,
    pub caches: Caches,
}

impl Physics {
    /// Cold caches, and regions that no task has touched.
    pub fn new(machine: &Machine, topology: &Topology, plan: &Plan) -> Self {
        let resources = &plan.program().resources;
        let region = |instance| Region::new(resources.regions[plan.regions().position(instance)].bytes);
        Self {
            regions: (0..plan.regions().total()).map(region).collect(),
            memory: Memory::new(machine.nodes()),
            caches: Caches::new(
                topology,
                machine.private_kib,
                machine.llc_kib,
                machine.costs.refill_kib,
                machine.costs.random_percent,
            ),
        }
    }
}
