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
mod tests {
    use super::*;

    fn guest(sockets: usize, cores: usize, threads: usize, nodes: usize) -> Guest {
        Guest { sockets, cores, threads, nodes, node_bytes: 512 << 20, doubled: false }
    }

    fn xeon() -> Machine {
        schedlab_sim::machine::machine("xeon-e5-2670v3").unwrap()
    }

    #[test]
    fn sockets_cores_and_threads_of_the_guest_are_those_of_the_machine() {
        let placed = Placement::new(&xeon(), guest(2, 2, 2, 2)).unwrap();
        // The machine numbers all first threads before all second threads.
        assert_eq!(placed.cpus, [0, 24, 1, 25, 12, 36, 13, 37]);
        let distance = |a: usize, b: usize| placed.topology.distance(placed.cpus[a], placed.cpus[b]);
        assert_eq!(
            [distance(0, 1), distance(0, 2), distance(0, 4)],
            [Distance::Core, Distance::Llc, Distance::Far]
        );
    }

    #[test]
    fn memory_belongs_to_the_node_of_its_address() {
        let placed = Placement::new(&xeon(), guest(2, 1, 1, 2)).unwrap();
        let memory = [(0, 0), (0, 600 << 20), (1, 600 << 20), (1, 0)];
        assert_eq!(
            memory.map(|(cpu, address)| placed.memory(cpu, address)),
            [Distance::Node, Distance::Far, Distance::Node, Distance::Far]
        );
    }

    #[test]
    fn memory_above_the_hole_follows_the_memory_below() {
        let large = Guest { node_bytes: 2 << 30, ..guest(2, 1, 1, 2) };
        let placed = Placement::new(&xeon(), large).unwrap();
        assert_eq!(placed.memory(0, (2 << 30) - 1), Distance::Node);
        assert_eq!(placed.memory(0, 2 << 30), Distance::Far);
        assert_eq!(placed.memory(0, HIGH), Distance::Far);
    }

    #[test]
    fn positions_that_were_added_twice_name_the_same_node() {
        let doubled = Guest { doubled: true, ..guest(2, 1, 1, 2) };
        let placed = Placement::new(&xeon(), doubled).unwrap();
        assert_eq!(placed.memory(0, 511 << 20), Distance::Node);
        assert_eq!(placed.memory(0, 1024 << 20), Distance::Far);
    }

    #[test]
    fn a_guest_larger_than_the_machine_is_refused() {
        let error = Placement::new(&xeon(), guest(4, 1, 1, 4)).err().unwrap();
        assert_eq!(error, "xeon-e5-2670v3 has 2 sockets, and the guest 4");
        assert!(Placement::new(&xeon(), guest(1, 13, 1, 1)).is_err());
        assert!(Placement::new(&xeon(), guest(1, 1, 4, 1)).is_err());
    }
}
