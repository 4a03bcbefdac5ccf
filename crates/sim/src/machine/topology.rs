//! Topology of a machine: core, cluster, cache and node of each CPU, and the distances between them.

use super::{CpuMask, Distance, Machine, Numbering};

/// Place of a CPU. Cores, clusters, caches and nodes are numbered through the machine. Without clusters each core is a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    pub core: u16,
    pub cluster: u16,
    pub cache: u16,
    pub node: u16,
}

/// Bits of each unit in [`Topology::paths`]: enough for [`super::MAX_CPUS`] cores.
const UNIT_BITS: usize = 10;

/// Distance by the number of leading zeros of the difference of two paths: two CPUs share the unit that contains the widest unit
/// in which they differ.
const DISTANCES: [Distance; 64] = {
    let mut distances = [Distance::Core; 64];
    let mut bit = 0;
    while bit < UNIT_BITS * (Distance::COUNT - 1) {
        distances[63 - bit] = Distance::ALL[1 + bit / UNIT_BITS];
        bit += 1;
    }
    distances
};

/// Places of all CPUs, and the CPUs of each core, cluster, cache and node.
#[derive(Debug, Clone)]
pub struct Topology {
    pub(crate) places: Vec<Place>,
    /// Socket, node, cache, cluster and core of each CPU, from the highest bits down, so that a distance takes few branches.
    paths: Vec<u64>,
    pub(crate) cores: Vec<CpuMask>,
    /// The CPUs of each cluster; empty if the machine has no clusters.
    pub(crate) clusters: Vec<CpuMask>,
    pub(crate) caches: Vec<CpuMask>,
    pub(crate) nodes: Vec<CpuMask>,
    pub(crate) threads: usize,
    /// Difference between the numbers of two CPUs of a core.
    sibling_step: usize,
    /// Distance from a CPU of node `from` to memory of node `to`, at index `from * nodes + to`.
    memory: Vec<Distance>,
}

impl Topology {
    /// Derive the topology of a machine that has passed [`Machine::check`].
    pub fn new(machine: &Machine) -> Self {
        let threads = machine.threads_per_core as usize;
        let cores = machine.cpus() / threads;
        let per_cluster = machine.cores_per_cluster.unwrap_or(1) as usize;
        let (per_cache, per_node) = (machine.cores_per_cache, machine.caches_per_node);
        let sibling_step = match machine.numbering {
            Numbering::Adjacent => 1,
            Numbering::Split => cores,
        };
        let (mut places, mut paths) = (vec![Place::default(); machine.cpus()], vec![0; machine.cpus()]);
        for (core, cpu) in
            (0..cores).flat_map(|core| siblings(core, threads, sibling_step).map(move |cpu| (core, cpu)))
        {
            let (cluster, cache) = (core / per_cluster, core / per_cache as usize);
            let node = cache / per_node as usize;
            places[cpu] =
                Place { core: core as u16, cluster: cluster as u16, cache: cache as u16, node: node as u16 };
            let units = [node / machine.nodes_per_socket as usize, node, cache, cluster, core];
            paths[cpu] = units.into_iter().fold(0, |path, unit| path << UNIT_BITS | unit as u64);
        }
        let sets = |count: usize, of: fn(&Place) -> u16| {
            let members = |set: usize| {
                let within = |cpu: &usize| usize::from(of(&places[*cpu])) == set;
                (0..places.len()).filter(within).collect()
            };
            (0..count).map(members).collect::<Vec<CpuMask>>()
        };
        let clusters = machine.cores_per_cluster.map_or(0, |each| cores / each as usize);
        let caches = cores / per_cache as usize;
        let nodes = machine.nodes();
        let memory =
            (0..nodes * nodes).map(|pair| memory_distance(machine, pair / nodes, pair % nodes)).collect();
        Self {
            cores: sets(cores, |place| place.core),
            clusters: sets(clusters, |place| place.cluster),
            caches: sets(caches, |place| place.cache),
            nodes: sets(nodes, |place| place.node),
            places,
            paths,
            threads,
            sibling_step,
            memory,
        }
    }

    /// Number of CPUs.
    pub fn cpus(&self) -> usize {
        self.places.len()
    }

    /// Distance between two CPUs.
    #[inline]
    pub fn distance(&self, a: usize, b: usize) -> Distance {
        let difference = self.paths[a] ^ self.paths[b];
        if difference == 0 { Distance::Core } else { DISTANCES[difference.leading_zeros() as usize] }
    }

    /// Distance from a CPU to the memory of a node; [`Distance::Node`] for local memory.
    #[inline]
    pub fn memory_distance(&self, cpu: usize, node: usize) -> Distance {
        self.memory[usize::from(self.places[cpu].node) * self.nodes.len() + node]
    }

    /// Node of a CPU.
    #[inline]
    pub fn node(&self, cpu: usize) -> usize {
        self.places[cpu].node.into()
    }

    /// Core of a CPU.
    #[inline]
    pub fn core(&self, cpu: usize) -> usize {
        self.places[cpu].core.into()
    }

    /// Cluster of a CPU; its core if the machine has no clusters.
    #[inline]
    pub fn cluster(&self, cpu: usize) -> usize {
        self.places[cpu].cluster.into()
    }

    /// Last-level cache of a CPU.
    #[inline]
    pub fn cache(&self, cpu: usize) -> usize {
        self.places[cpu].cache.into()
    }

    /// Whether two CPUs share a last-level cache.
    #[inline]
    pub fn share_cache(&self, a: usize, b: usize) -> bool {
        self.places[a].cache == self.places[b].cache
    }

    /// CPUs of a core.
    pub fn core_cpus(&self, core: usize) -> &CpuMask {
        &self.cores[core]
    }

    /// CPUs of a core, ascending, without a search of the set.
    #[inline]
    pub fn siblings(&self, core: usize) -> impl Iterator<Item = usize> + Clone + use<> {
        siblings(core, self.threads, self.sibling_step)
    }

    /// CPUs of a last-level cache.
    pub fn cache_cpus(&self, cache: usize) -> &CpuMask {
        &self.caches[cache]
    }

    /// CPUs of a node.
    pub fn node_cpus(&self, node: usize) -> &CpuMask {
        &self.nodes[node]
    }
}

/// CPUs of a core: consecutive numbers, or the core's number and its sum with multiples of the number of cores.
#[inline]
fn siblings(core: usize, threads: usize, step: usize) -> impl Iterator<Item = usize> + Clone + use<> {
    let first = if step == 1 { core * threads } else { core };
    (0..threads).map(move |thread| first + thread * step)
}

fn memory_distance(machine: &Machine, from: usize, to: usize) -> Distance {
    let per_socket = machine.nodes_per_socket as usize;
    if from == to {
        Distance::Node
    } else if from / per_socket == to / per_socket {
        Distance::Near
    } else {
        Distance::Far
    }
}

#[cfg(test)]
#[path = "../../tests/unit/machine/topology.rs"]
mod tests;
