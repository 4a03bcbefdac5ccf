//! Zone and global counters with differentials of each CPU.

use crate::machine::CpuMask;

/// A counter with differentials (`enum zone_stat_item`, `node_stat_item`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Item {
    /// Free pages.
    FreePages,
    /// Anonymous pages in page tables.
    AnonPages,
    /// Stacks of tasks in the kernel, in KiB.
    KernelStack,
}

impl Item {
    /// All counters.
    pub const ALL: [Self; ITEMS] = [Self::FreePages, Self::AnonPages, Self::KernelStack];

    /// Name in /proc/vmstat (proc_vmstat(5)).
    pub fn name(self) -> &'static str {
        match self {
            Self::FreePages => "nr_free_pages",
            Self::AnonPages => "nr_anon_pages",
            Self::KernelStack => "nr_kernel_stack",
        }
    }
}

const ITEMS: usize = 3;

/// Pages of 4 KiB in a MiB.
const PAGES_PER_MIB: i64 = 256;

/// Marker for a line that no CPU has written.
const NOBODY: u16 = u16::MAX;

/// All counters. Each node has one zone.
#[derive(Debug, Clone)]
pub(crate) struct Counts {
    threshold: i64,
    nodes: usize,
    /// Differentials of each CPU, for each zone.
    differentials: Vec<[i8; ITEMS]>,
    zones: Vec<[i64; ITEMS]>,
    global: [i64; ITEMS],
    /// Last writer of each zone's line, and as the last entry of the global counters' line.
    writers: Vec<u16>,
    /// CPUs whose differentials may differ from 0.
    changed: CpuMask,
    /// True counts, for the checks.
    #[cfg(any(debug_assertions, feature = "check"))]
    truth: [i64; ITEMS],
    #[cfg(any(debug_assertions, feature = "check"))]
    verified: bool,
}

/// Result of a fold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Folded {
    /// Differentials that differed from 0.
    pub items: u64,
    /// Written lines whose last writer was another CPU.
    pub lines: u64,
    pub foreign: u64,
}

/// Number of the highest set bit, from 1; 0 for 0 (`fls()`).
fn fls(value: u64) -> i64 {
    i64::from(u64::BITS - value.leading_zeros())
}

/// Threshold of differentials by number of CPUs and memory of the zone: 2 × fls(CPUs) × (1 + fls(memory
/// in units of 128 MiB)), at most 125 (`calculate_normal_threshold()`, mm/vmstat.c, unchanged from 2.6.18 to 6.12).
fn threshold(cpus: usize, zone_mib: u64) -> i64 {
    (2 * fls(cpus as u64) * (1 + fls(zone_mib / 128))).min(125)
}

impl Counts {
    /// Counters of a machine without tasks. `folds`: whether the kernel has differentials.
    pub fn new(cpus: usize, nodes: usize, node_mib: u64, folds: bool) -> Self {
        let mut empty = [0; ITEMS];
        empty[Item::FreePages as usize] = node_mib as i64 * PAGES_PER_MIB;
        let mut global = [0; ITEMS];
        global[Item::FreePages as usize] = empty[Item::FreePages as usize] * nodes as i64;
        Self {
            threshold: if folds { threshold(cpus, node_mib) } else { 0 },
            nodes,
            differentials: vec![[0; ITEMS]; cpus * nodes],
            zones: vec![empty; nodes],
            global,
            writers: vec![NOBODY; nodes + 1],
            changed: CpuMask::EMPTY,
            #[cfg(any(debug_assertions, feature = "check"))]
            truth: global,
            #[cfg(any(debug_assertions, feature = "check"))]
            verified: false,
        }
    }

    /// Change a counter of a node's zone by `steps` steps of `step` each, page by page. Return how often the differential
    /// exceeded the threshold and was folded at once.
    pub fn change(&mut self, cpu: usize, node: usize, item: Item, step: i64, steps: u64) -> u64 {
        #[cfg(any(debug_assertions, feature = "check"))]
        {
            self.truth[item as usize] += step * steps as i64;
            self.verified = false;
        }
        let differential = &mut self.differentials[cpu * self.nodes + node][item as usize];
        let (mut value, mut left, mut over, mut folded) = (i64::from(*differential), steps, 0, 0);
        while left > 0 {
            // Steps from the present differential until the threshold is exceeded.
            let ahead = if step > 0 { self.threshold - value } else { self.threshold + value };
            let fits = (ahead / step.abs()) as u64;
            if left <= fits {
                value += step * left as i64;
                break;
            }
            folded += value + step * (fits as i64 + 1);
            left -= fits + 1;
            over += 1;
            value = 0;
            if left > fits {
                // Starting from 0, all further rounds are alike.
                let fits = (self.threshold / step.abs()) as u64;
                let rounds = left / (fits + 1);
                folded += step * (rounds * (fits + 1)) as i64;
                left -= rounds * (fits + 1);
                over += rounds;
            }
        }
        *differential = value as i8;
        if value != 0 {
            self.changed.insert(cpu);
        }
        if over > 0 {
            self.zones[node][item as usize] += folded;
            self.global[item as usize] += folded;
            self.writers[node] = cpu as u16;
            self.writers[self.nodes] = cpu as u16;
        }
        over
    }

    /// Differentials of a CPU that a fold would add, and the lines that the fold would write.
    pub fn pending(&self, cpu: usize) -> Folded {
        let mut folded = Folded::default();
        if !self.changed.contains(cpu) {
            return folded;
        }
        let mut write = |line: usize| {
            folded.lines += 1;
            folded.foreign += u64::from(self.writers[line] != cpu as u16);
        };
        for node in 0..self.nodes {
            let differentials = &self.differentials[cpu * self.nodes + node];
            let items = differentials.iter().filter(|each| **each != 0).count() as u64;
            if items > 0 {
                write(node);
            }
            folded.items += items;
        }
        if folded.items > 0 {
            folded.lines += 1;
            folded.foreign += u64::from(self.writers[self.nodes] != cpu as u16);
        }
        folded
    }

    /// Add the differentials of a CPU to the counters of their zones and to the global counters (`refresh_cpu_vm_stats()`,
    /// mm/vmstat.c, v4.5).
    pub fn refresh_cpu_vm_stats(&mut self, cpu: usize) -> Folded {
        let folded = self.pending(cpu);
        self.changed.remove(cpu);
        if folded.items == 0 {
            return folded;
        }
        #[cfg(any(debug_assertions, feature = "check"))]
        {
            self.verified = false;
        }
        for node in 0..self.nodes {
            let differentials = std::mem::take(&mut self.differentials[cpu * self.nodes + node]);
            if differentials == [0; ITEMS] {
                continue;
            }
            for (item, each) in differentials.into_iter().enumerate() {
                self.zones[node][item] += i64::from(each);
                self.global[item] += i64::from(each);
            }
            self.writers[node] = cpu as u16;
        }
        self.writers[self.nodes] = cpu as u16;
        folded
    }

    /// CPUs whose differentials may differ from 0; [`Counts::pending`] is exact.
    pub fn changed(&self) -> CpuMask {
        self.changed
    }

    /// Global counter, as in /proc/vmstat.
    pub fn global(&self, item: Item) -> i64 {
        self.global[item as usize]
    }

    /// Counter of each zone.
    pub fn zones(&self, item: Item) -> impl Iterator<Item = i64> {
        self.zones.iter().map(move |zone| zone[item as usize])
    }

    /// Sum of a counter's differentials for each CPU.
    pub fn differentials(&self, item: Item) -> impl Iterator<Item = i64> {
        let sum = move |zones: &[[i8; ITEMS]]| zones.iter().map(|zone| i64::from(zone[item as usize])).sum();
        self.differentials.chunks(self.nodes).map(sum)
    }

    /// Panic unless global counters and differentials sum to the true count, zones and global counters agree, and no
    /// differential exceeds the threshold.
    #[cfg(any(debug_assertions, feature = "check"))]
    pub fn verify(&mut self) {
        if std::mem::replace(&mut self.verified, true) {
            return;
        }
        for item in Item::ALL {
            let total = self.global(item) + self.differentials(item).sum::<i64>();
            assert_eq!(total, self.truth[item as usize], "{} equals the true count", item.name());
            assert_eq!(
                self.zones(item).sum::<i64>(),
                self.global(item),
                "zones of {} sum to the global counter",
                item.name()
            );
        }
        let most = self.differentials.iter().flatten().map(|each| i64::from(*each).abs()).max();
        assert!(most <= Some(self.threshold), "a differential of {most:?} exceeds the threshold");
        let cpu_of = |(at, differentials): (usize, &[i8; ITEMS])| {
            (*differentials != [0; ITEMS]).then_some(at / self.nodes)
        };
        let missed =
            self.differentials.iter().enumerate().filter_map(cpu_of).find(|cpu| !self.changed.contains(*cpu));
        assert_eq!(missed, None, "CPU with differentials that the shepherd would miss");
    }
}

#[cfg(test)]
#[path = "../../tests/unit/vmstat/counts.rs"]
mod tests;
