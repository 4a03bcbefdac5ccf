//! Slowdown of work by caches, memory and SMT siblings.

mod lines;
mod memory;
mod tlb;
mod warmth;
mod written;

use schedlab_workload::Plan;
use schedlab_workload::program::{Resource, Scope};

use crate::balance::KernelPolicy;
use crate::engine::{Engine, FULL};
use crate::machine::{Machine, Topology};
use crate::observe::Observer;
use crate::sched::NOBODY;

pub(crate) use lines::SharedLine;
pub(crate) use memory::{Memory, PAGE, Region, Touch};
pub(crate) use tlb::Tlbs;
pub(crate) use warmth::{Caches, Warmth};
pub(crate) use written::{Waiting, Written};

/// Caches and memory of the machine, and the memory regions of the program.
pub(crate) struct Physics {
    pub regions: Vec<Region>,
    pub memory: Memory,
    pub caches: Caches,
    /// Reference count of the loopback device's route, see [`Engine::modify_line`]. Each packet holds a reference
    /// (`skb_dst_force()` in `loopback_xmit()`, drivers/net/loopback.c), which its receiver drops; both are atomic operations.
    /// T. Gleixner, W. Guo, "net: dst: Switch to rcuref_t reference counting", netdev, March 2023, measured this line
    /// as the limit of many connections to one address, and replaced the compare-and-swap by an addition. Kernels have one
    /// such route for each CPU that connects; the connections of a program are made one after the other by the same few CPUs.
    pub route: SharedLine,
    pub tlbs: Tlbs,
    pub written: Written,
}

impl Physics {
    /// Cold caches, and regions that no task has touched.
    pub fn new(machine: &Machine, topology: &Topology, plan: &Plan) -> Self {
        let resources = &plan.program().resources;
        let region = |instance| {
            let region = &resources.regions[plan.regions().position(instance)];
            Region::new(region.bytes, region.scope() != Scope::Task)
        };
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
            route: SharedLine::default(),
            tlbs: Tlbs::new(topology.places.len()),
            written: Written::new(topology.cores.len(), machine.private_kib),
        }
    }
}

impl<P: KernelPolicy, O: Observer> Engine<'_, P, O> {
    /// Update the speed of a CPU's core after the CPU has become busy or idle.
    #[inline]
    pub(crate) fn smt_changed(&mut self, cpu: usize) {
        if self.topology.threads > 1 {
            self.retime_core(cpu);
        }
    }

    /// Set the share of each CPU of a core: Simultaneously busy SMT siblings slow each other.
    fn retime_core(&mut self, cpu: usize) {
        let core = self.topology.siblings(self.topology.core(cpu));
        let busy = core.clone().filter(|sibling| self.cpus[*sibling].current != NOBODY).count();
        for sibling in core {
            let share = if busy > 1 { (self.costs.smt_percent * u32::from(FULL) / 100) as u16 } else { FULL };
            if self.cpus[sibling].share != share {
                self.settle(sibling);
                self.cpus[sibling].share = share;
                self.cpus[sibling].update_rate();
                if sibling != cpu {
                    self.rekey(sibling);
                }
            }
        }
    }
}
