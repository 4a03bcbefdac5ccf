//! Scheduling domains: sets of CPUs within which load is balanced, from narrow to wide.
//!
//! ```text
//! NUMA ≤ 21   {0 … 47}      groups: node 0 | node 1
//! MC          {0 … 11, 24 … 35}   groups: core 0 | core 1 | …
//! SMT         {0, 24}       groups: CPU 0 | CPU 24
//! ```
//! On machines with clusters, kernels since 5.16 have a level CLS between SMT and MC.
//!
//! A level with the same span as the level below is left out, as in the kernel
//! (Documentation/scheduler/sched-domains.rst). Groups are disjoint. In the kernel, groups of a NUMA level may overlap.

use super::{CpuMask, Machine, Topology};

/// Level of a domain: the resource that its CPUs share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DomainKind {
    /// A core.
    Smt,
    /// A cluster of cores.
    Cluster,
    /// A last-level cache.
    Cache,
    /// A NUMA node.
    Node,
    /// Nodes within a distance.
    Numa(u32),
}

/// Scheduling domain. All CPUs with the same span at a level share a domain.
#[derive(Debug, Clone)]
pub struct Domain {
    /// Level of the domain.
    pub kind: DomainKind,
    /// CPUs of the domain.
    pub span: CpuMask,
    /// Groups of the domain: the spans of the level below.
    pub groups: Vec<CpuMask>,
}

/// Domains of all CPUs.
#[derive(Debug, Clone)]
pub struct Domains {
    /// All distinct domains.
    pub all: Vec<Domain>,
    /// For each CPU the indices of its domains in `all`, from narrow to wide.
    pub of_cpu: Vec<Vec<u16>>,
}

impl Domains {
    /// Derive the domains of a machine. `clusters`: the kernel has a level of clusters.
    pub fn new(machine: &Machine, topology: &Topology, clusters: bool) -> Self {
        let mut far: Vec<u32> = (0..machine.nodes() * machine.nodes())
            .map(|pair| machine.node_distance(pair / machine.nodes(), pair % machine.nodes()))
            .filter(|distance| *distance > 10)
            .collect();
        far.sort_unstable();
        far.dedup();
        let mut kinds = vec![DomainKind::Smt];
        kinds.extend((clusters && !topology.clusters.is_empty()).then_some(DomainKind::Cluster));
        kinds.extend([DomainKind::Cache, DomainKind::Node]);
        kinds.extend(far.into_iter().map(DomainKind::Numa));
        let mut domains = Self { all: Vec::new(), of_cpu: vec![Vec::new(); topology.cpus()] };
        let single = |cpu| std::iter::once(cpu).collect::<CpuMask>();
        let mut below: Vec<CpuMask> = (0..topology.cpus()).map(single).collect();
        for kind in kinds {
            let spans: Vec<CpuMask> =
                (0..topology.cpus()).map(|cpu| span(machine, topology, kind, cpu)).collect();
            for cpu in 0..topology.cpus() {
                if spans[cpu] != below[cpu] {
                    domains.add(cpu, kind, spans[cpu], &below);
                }
            }
            below = spans;
        }
        domains
    }

    /// Add the domain `span` to a CPU. Create the domain with groups from `below` unless another CPU has the domain.
    fn add(&mut self, cpu: usize, kind: DomainKind, span: CpuMask, below: &[CpuMask]) {
        let position = self.all.iter().position(|domain| domain.span == span && domain.kind == kind);
        let position = position.unwrap_or_else(|| {
            let (mut left, mut groups) = (span, Vec::new());
            while let Some(first) = left.lowest() {
                let group = below[first].and(&left);
                left = left.without(&group);
                groups.push(group);
            }
            self.all.push(Domain { kind, span, groups });
            self.all.len() - 1
        });
        self.of_cpu[cpu].push(position as u16);
    }
}

/// CPUs that share a resource of `kind` with a CPU.
fn span(machine: &Machine, topology: &Topology, kind: DomainKind, cpu: usize) -> CpuMask {
    match kind {
        DomainKind::Smt => *topology.core_cpus(topology.core(cpu)),
        DomainKind::Cluster => topology.clusters[topology.cluster(cpu)],
        DomainKind::Cache => *topology.cache_cpus(topology.cache(cpu)),
        DomainKind::Node => *topology.node_cpus(topology.node(cpu)),
        DomainKind::Numa(distance) => {
            let local = topology.node(cpu);
            let within = |node: &usize| machine.node_distance(local, *node) <= distance;
            let nodes = (0..machine.nodes()).filter(within);
            nodes.fold(CpuMask::EMPTY, |span, node| span.or(topology.node_cpus(node)))
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/machine/domains.rs"]
mod tests;
