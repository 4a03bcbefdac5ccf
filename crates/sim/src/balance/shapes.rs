//! Domains and caches cut to the CPUs that take part, in the form that passes and searches read fastest.

use std::ops::Range;

use crate::kernel::{IdleSearch, Kernel};
use crate::machine::{CpuMask, DomainKind, Domains, Span, Topology};

/// A domain.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub kind: DomainKind,
    pub span: Span,
    pub weight: u32,
    pub groups: Vec<Group>,
    pub ranges: Vec<Range<usize>>,
    /// Whether each group is a single CPU.
    pub singles: bool,
}

/// A group of a domain.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub span: Span,
    pub cpus: Vec<u16>,
    /// The same as ranges of numbers: most are one, SMT with split numbers makes them two.
    pub ranges: Vec<Range<usize>>,
    /// The caches that it consists of, if it does.
    pub caches: Vec<u16>,
}

/// A last-level cache.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    pub span: Span,
    pub width: usize,
    /// How many CPUs a wake-up looks at, by how many are idle; of kernels that go by the cache's utilisation.
    reaches: Vec<u16>,
}

impl Cache {
    fn new(span: CpuMask, kernel: &Kernel) -> Self {
        let width = span.count();
        let reach = |idle: usize| sis_util_reach(idle, width, kernel.domains.cache_imbalance_pct);
        let known = kernel.idle_search == IdleSearch::Utilisation;
        let reaches = if known { (0..=width).map(reach).collect() } else { Vec::new() };
        Self { span: Span::new(span), width, reaches }
    }

    /// How many CPUs a wake-up looks at (`SIS_UTIL`) while `idle` are idle.
    #[inline]
    pub fn reach(&self, idle: usize) -> usize {
        self.reaches[idle].into()
    }
}

/// Width × (1 − (x × `pct` %)²), x being the part of a cache's CPUs that is busy (`update_idle_cpu_scan()` of 6.12, with
/// the momentary number of busy CPUs for the average utilisation).
fn sis_util_reach(idle: usize, width: usize, pct: u32) -> u16 {
    let busy = (width - idle) as u64 * 1024 / width.max(1) as u64;
    let pct = u64::from(pct);
    let taken = (busy * busy * pct * pct / (10_000 * 1024)).min(1024);
    let most = (1024 - taken) * width as u64 / 1024;
    if most == 0 { 0 } else { (most + 1).min(width as u64) as u16 }
}

/// All of them.
#[derive(Debug, Clone)]
pub(crate) struct Shapes {
    pub domains: Vec<Shape>,
    /// For each CPU its domains' positions, narrow to wide; none for isolated CPUs.
    pub of_cpu: Vec<Vec<u16>>,
    pub caches: Vec<Cache>,
    /// All CPUs that take part.
    pub open: Span,
}

impl Shapes {
    /// Cuts everything to the CPUs in `open`.
    pub fn new(domains: &Domains, topology: &Topology, kernel: &Kernel, open: &CpuMask) -> Self {
        let group = |span: &CpuMask| {
            let span = span.and(open);
            let cpus = span.iter().map(|cpu| cpu as u16).collect();
            let caches = whole_caches(&span, topology, open);
            Group { cpus, ranges: ranges(&span), caches, span: Span::new(span) }
        };
        let shape = |domain: &crate::machine::Domain| {
            let groups: Vec<_> =
                domain.groups.iter().map(group).filter(|group| !group.cpus.is_empty()).collect();
            let span = domain.span.and(open);
            let ranges = ranges(&span);
            let singles = groups.iter().all(|group| group.cpus.len() == 1);
            let (weight, span) = (span.count() as u32, Span::new(span));
            Shape { kind: domain.kind, weight, span, groups, ranges, singles }
        };
        let cache = |cpus: &CpuMask| Cache::new(cpus.and(open), kernel);
        let of_cpu =
            |(cpu, levels): (usize, &Vec<u16>)| if open.contains(cpu) { levels.clone() } else { Vec::new() };
        Self {
            domains: domains.all.iter().map(shape).collect(),
            of_cpu: domains.of_cpu.iter().enumerate().map(of_cpu).collect(),
            caches: (0..topology.caches.len()).map(|at| cache(topology.cache_cpus(at))).collect(),
            open: Span::new(*open),
        }
    }

    /// A CPU's domain of a level.
    #[inline]
    pub fn domain(&self, cpu: usize, level: usize) -> &Shape {
        &self.domains[usize::from(self.of_cpu[cpu][level])]
    }
}

/// The caches, cut to the CPUs in `open`, that a set consists of; none if it holds a part of one.
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

/// A set as ranges of neighbouring numbers.
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
