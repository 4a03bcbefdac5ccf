//! Scheduling attributes of a program's groups.

use crate::machine::CpuMask;
use crate::sched::weight;
use crate::tasks::Class;
use crate::time::Ns;

/// How the tasks of a group are scheduled; children inherit it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes {
    /// Scheduling class.
    pub class: Class,
    /// Nice value, −20 to 19.
    pub nice: i32,
    /// CPUs that they may run on; all that are not isolated by default.
    pub cpus: Option<CpuMask>,
    /// Their own slice (`sched_attr::sched_runtime` under EEVDF); the kernel's by default.
    pub slice_ns: Option<Ns>,
    /// Footprint in the caches; the machine's default.
    pub footprint_kib: Option<u32>,
    /// Node that their memory comes from; that of the first touch by default.
    pub memory_node: Option<usize>,
}

/// Attributes as the engine uses them.
#[derive(Debug, Clone)]
pub(crate) struct TaskSettings {
    pub class: Class,
    pub nice: i32,
    pub weight: u32,
    /// Position among the engine's masks.
    pub mask: Option<CpuMask>,
    pub slice_ns: Option<Ns>,
    pub footprint_kib: u32,
    pub memory_node: Option<u8>,
}

impl TaskSettings {
    pub fn new(attributes: &Attributes, footprint_kib: u32) -> Self {
        let weight =
            if attributes.class == Class::Idle { weight::IDLE } else { weight::of_nice(attributes.nice) };
        Self {
            class: attributes.class,
            nice: attributes.nice,
            weight,
            mask: attributes.cpus,
            slice_ns: attributes.slice_ns,
            footprint_kib: attributes.footprint_kib.unwrap_or(footprint_kib),
            memory_node: attributes.memory_node.map(|node| node as u8),
        }
    }
}
