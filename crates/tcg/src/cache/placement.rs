//! The places of a guest's CPUs and memory on a machine model.

use schedlab_sim::machine::{Distance, Machine, Topology};

/// Guest memory below the hole for devices, in bytes, if a guest has more than the hole leaves
/// (`pc_init1`, hw/i386/pc_piix.c of QEMU: 3.5 GiB, aligned down to 3 GiB).
const LOW: u64 = 3 << 30;

/// Guest address of the memory that does not fit below the hole.
const HIGH: u64 = 4 << 30;

/// Sockets, cores of a socket, threads of a core and NUMA nodes of a guest, and the bytes of a node.
///
/// QEMU before 8.2 reports addresses in the memory of node `n` larger by `n` times the bytes of a node (`doubled`): it
/// adds the position of the node's memory twice (`qemu_plugin_hwaddr_phys_addr`, plugins/api.c of 7.2).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guest {
    pub(crate) sockets: usize,
    pub(crate) cores: usize,
    pub(crate) threads: usize,
    pub(crate) nodes: usize,
    pub(crate) node_bytes: u64,
    pub(crate) doubled: bool,
}

/// The CPU of the machine for each CPU of the guest, and the node of the machine for each node of the guest.
///
/// Core `c` of the guest's socket `s` is core `c` of the machine's socket `s`. A guest's node is the node of its
/// first CPU.
pub(crate) struct Placement {
    guest: Guest,
    pub(crate) topology: Topology,
    pub(crate) cpus: Vec<usize>,
    nodes: Vec<usize>,
}

impl Placement {
    /// Places a guest; an error if the machine has fewer sockets, cores or threads.
    pub(crate) fn new(machine: &Machine, guest: Guest) -> Result<Self, String> {
        let cores = (machine.nodes_per_socket * machine.caches_per_node * machine.cores_per_cache) as usize;
        let shape = [
            ("sockets", guest.sockets, machine.sockets as usize),
            ("cores in a socket", guest.cores, cores),
            ("threads in a core", guest.threads, machine.threads_per_core as usize),
        ];
        for (what, wanted, there) in shape {
            if wanted > there {
                return Err(format!("{} has {there} {what}, and the guest {wanted}", machine.name));
            }
        }
        let topology = Topology::new(machine);
        let cpu_of = |number: usize| {
            // QEMU numbers the threads of a core first, then the cores of a socket.
            let (core, thread) = (number / guest.threads, number % guest.threads);
            let place = core / guest.cores * cores + core % guest.cores;
            topology.core_cpus(place).iter().nth(thread).expect("the shape was compared")
        };
        let cpus: Vec<usize> = (0..guest.sockets * guest.cores * guest.threads).map(cpu_of).collect();
        let nodes =
            (0..guest.nodes).map(|node| topology.node(cpus[node * cpus.len() / guest.nodes])).collect();
        Ok(Self { guest, topology, cpus, nodes })
    }

    /// The distance from a guest's CPU to the memory at a guest's physical address.
    pub(crate) fn memory(&self, cpu: usize, address: u64) -> Distance {
        let node = if self.guest.doubled {
            address / (2 * self.guest.node_bytes)
        } else {
            (if address >= HIGH { address - HIGH + LOW } else { address }) / self.guest.node_bytes
        };
        let node = (node as usize).min(self.nodes.len() - 1);
        self.topology.memory_distance(self.cpus[cpu], self.nodes[node])
    }
}

#[cfg(test)]
#[path = "../../tests/unit/cache/placement.rs"]
mod tests;
