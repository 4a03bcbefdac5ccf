//! Tables of domains, groups and caches, restricted to the CPUs that balancing uses, in the form that passes and searches
//! read fastest.

use std::ops::Range;

use crate::machine::{CpuMask, Distance, Domain, DomainKind, Domains, Span, Topology};

/// A scheduling domain (`struct sched_domain`).
#[derive(Debug, Clone)]
pub(crate) struct SchedDomain {
    pub kind: DomainKind,
    pub span: Span,
    pub weight: u32,
    /// Greatest distance between two CPUs.
    pub width: Distance,
    pub groups: Vec<SchedGroup>,
    /// `span` as ranges of CPU numbers.
    pub ranges: Vec<Range<usize>>,
    /// Each group is a single CPU.
    pub single_cpu_groups: bool,
    /// Tasks of a group up to which nodes may differ, see [`crate::kernel::NumaImbalance::Caches`]; 0 within a node.
    pub numa_limit: u64,
}

/// A group of a domain (`struct sched_group`).
#[derive(Debug, Clone)]
pub(crate) struct SchedGroup {
    pub span: Span,
    pub cpus: Vec<u16>,
    /// `cpus` as ranges of CPU numbers: mostly one range; two where SMT siblings have distant numbers.
    pub ranges: Vec<Range<usize>>,
    /// The last-level caches whose CPUs make up the group; empty if the group contains a part of a cache.
    pub caches: Vec<u16>,
}

/// CPUs under a last-level cache.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    pub span: Span,
    pub width: usize,
    /// Number of CPUs that a wake-up scans under `SIS_UTIL`, which periodic balancing sets: 0, or one more than
    /// `sd_llc_shared->nr_idle_scan` for the target, which a search scans twice if it begins with the target's cluster.
    pub scan_limit: usize,
}

impl Cache {
    fn new(span: CpuMask) -> Self {
        let width = span.count();
        // The CPUs were idle before.
        Self { span: Span::new(span), width, scan_limit: width + 1 }
    }

    /// Set the number of CPUs that a wake-up scans beside the target: width × (1 − (x × `pct` %)²), where x is the
    /// utilisation, `util` / (width × 1024) (`update_idle_cpu_scan()`, kernel/sched/fair.c, v6.12).
    pub fn update_scan_limit(&mut self, util: u64, pct: u32) {
        let (width, pct) = (self.width as u64, u64::from(pct));
        let busy = util / width.max(1);
        let taken = (busy * busy * pct * pct / (10_000 * 1024)).min(1024);
        let limit = ((1024 - taken) * width / 1024) as usize;
        self.scan_limit = if limit == 0 { 0 } else { limit + 1 };
    }
}

/// Domains and caches of the machine.
#[derive(Debug, Clone)]
pub(crate) struct SchedDomains {
    pub all: Vec<SchedDomain>,
    /// Indices of each CPU's domains in `all`, narrow to wide. Isolated CPUs have no domains.
    pub of_cpu: Vec<Vec<u16>>,
    pub caches: Vec<Cache>,
    /// The clusters that a wake-up searches first; empty if the kernel or the machine has no such clusters.
    pub clusters: Vec<Span>,
    /// CPUs that balancing uses.
    pub open: Span,
}

impl SchedDomain {
    /// Indices of the other groups, in the order in which a pass for a CPU of the group `local` examines them.
    pub fn after(&self, local: usize) -> impl Iterator<Item = usize> + use<> {
        let groups = self.groups.len();
        (1..groups).map(move |ahead| (local + ahead) % groups)
    }
}

impl SchedDomains {
    /// Build the tables, restricted to the CPUs in `open`. `clusters_first`: a wake-up searches the target's cluster first.
    pub fn new(domains: &Domains, topology: &Topology, open: &CpuMask, clusters_first: bool) -> Self {
        let group = |span: &CpuMask| {
            let span = span.and(open);
            let cpus = span.iter().map(|cpu| cpu as u16).collect();
            let caches = whole_caches(&span, topology, open);
            SchedGroup { cpus, ranges: ranges(&span), caches, span: Span::new(span) }
        };
        let restricted = |domain: &Domain| {
            let groups: Vec<_> =
                domain.groups.iter().map(group).filter(|group| !group.cpus.is_empty()).collect();
            let span = domain.span.and(open);
            let ranges = ranges(&span);
            let single_cpu_groups = groups.iter().all(|group| group.cpus.len() == 1);
            let first = span.lowest().unwrap_or(0);
            let width = span.iter().map(|cpu| topology.distance(first, cpu)).max().unwrap_or(Distance::Core);
            let (weight, span) = (span.count() as u32, Span::new(span));
            let kind = domain.kind;
            let numa_limit = numa_limit(domain, domains, topology, open);
            SchedDomain { kind, weight, width, span, groups, ranges, single_cpu_groups, numa_limit }
        };
        let all: Vec<_> = domains.all.iter().map(restricted).collect();
        // A domain of a single group is of no use (`sd_degenerate()`, `sd_parent_degenerate()`).
        let of_cpu = |(cpu, levels): (usize, &Vec<u16>)| {
            let used =
                levels.iter().filter(|at| open.contains(cpu) && all[usize::from(**at)].groups.len() > 1);
            used.copied().collect()
        };
        Self {
            of_cpu: domains.of_cpu.iter().enumerate().map(of_cpu).collect(),
            all,
            caches: (0..topology.caches.len())
                .map(|at| Cache::new(topology.cache_cpus(at).and(open)))
                .collect(),
            clusters: topology
                .clusters
                .iter()
                .filter(|_| clusters_first)
                .map(|cluster| Span::new(cluster.and(open)))
                .collect(),
            open: Span::new(*open),
        }
    }

    /// Return a CPU's domain at a level, 0 for the narrowest.
    #[inline]
    pub fn domain(&self, cpu: usize, level: usize) -> &SchedDomain {
        &self.all[usize::from(self.of_cpu[cpu][level])]
    }

    /// Number of domains of each CPU.
    pub fn levels(&self) -> impl Iterator<Item = usize> + '_ {
        self.of_cpu.iter().map(Vec::len)
    }

    /// [`SchedDomain::numa_limit`] of the narrowest domain of several nodes of a CPU, 0 without one.
    pub fn numa_limit(&self, cpu: usize) -> u64 {
        let domains = self.of_cpu[cpu].iter().map(|at| &self.all[usize::from(*at)]);
        domains.map(|domain| domain.numa_limit).find(|limit| *limit > 0).unwrap_or(0)
    }

    /// Whether a CPU has a domain of several nodes (`sd_numa`).
    pub fn spans_nodes(&self, cpu: usize) -> bool {
        self.numa_limit(cpu) > 0
    }

    /// Narrowest domain of a CPU that contains another CPU.
    pub fn level_with(&self, cpu: usize, other: usize) -> Option<usize> {
        (0..self.of_cpu[cpu].len()).find(|level| self.domain(cpu, *level).span.contains(other))
    }
}

/// Limit of a domain, 0 within a node: the last-level caches of a node, or an eighth of the CPUs of a node with one cache, in proportion
/// to the narrowest domain of several nodes (`imb_numa_nr`, `build_sched_domains()`, kernel/sched/topology.c, v6.1).
fn numa_limit(domain: &Domain, domains: &Domains, topology: &Topology, open: &CpuMask) -> u64 {
    let width = |cpus: &CpuMask| cpus.and(open).count();
    let numa = |domain: &&Domain| matches!(domain.kind, DomainKind::Numa(_));
    let Some(cpu) = domain.span.and(open).lowest().filter(|_| numa(&domain)) else { return 0 };
    let node = width(topology.node_cpus(topology.node(cpu)));
    let caches = node / width(topology.cache_cpus(topology.cache(cpu)));
    let limit = if caches > 1 { caches } else { node / 8 }.max(1);
    let narrowest = domains.of_cpu[cpu].iter().map(|at| &domains.all[usize::from(*at)]).find(numa);
    (limit * (width(&domain.span) / narrowest.map_or(1, |domain| width(&domain.span))).max(1)) as u64
}

/// Return the caches, restricted to `open`, whose CPUs make up a set; empty if the set contains a part of a cache.
fn whole_caches(span: &CpuMask, topology: &Topology, open: &CpuMask) -> Vec<u16> {
    let mut caches = Vec::new();
    for cache in 0..topology.caches.len() {
        let cpus = topology.cache_cpus(cache).and(open);
        match span.common(&cpus) {
            0 => {}
            common if common == cpus.count() => caches.push(cache as u16),
            _ => return Vec::new(),
        }
    }
    caches
}

/// Return a set as ranges of consecutive CPU numbers.
fn ranges(span: &CpuMask) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for cpu in span.iter() {
        match ranges.last_mut() {
            Some(last) if last.end == cpu => last.end = cpu + 1,
            _ => ranges.push(cpu..cpu + 1),
        }
    }
    ranges
}

#[cfg(test)]
#[path = "../../tests/unit/balance/sched_domains.rs"]
mod tests;
