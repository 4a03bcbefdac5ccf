//! Memory regions: nodes of their pages, their cached parts, and the bandwidth of nodes.

use schedlab_workload::program::Pattern;

use super::warmth::Caches;
use crate::machine::{Costs, Distance, LINE, MISSES_IN_FLIGHT, Topology};
use crate::time::Ns;

/// Maximum number of granules of a region. A granule is a page of 4 KiB in regions of up to 16 MiB. In larger regions a
/// granule is a power of two of pages, so that a footprint of 10 GB is as cheap to simulate as a small footprint.
const MOST_GRANULES: u64 = 4096;

/// Home of an untouched granule.
const UNTOUCHED: u8 = u8::MAX;

/// Size of a page in bytes.
pub(crate) const PAGE: u64 = 4096;

/// A region of memory.
#[derive(Debug, Clone)]
pub(crate) struct Region {
    pub bytes: u64,
    /// Several tasks map the region: its pages are of shared memory.
    shared: bool,
    /// Binary logarithm of the granule size in bytes.
    shift: u32,
    /// Node of each granule, and number of its touched pages; empty before the first touch.
    pub home: Vec<u8>,
    pub touched: Vec<u32>,
    /// Sum of `touched`.
    pub populated: u64,
    /// Node of each granule's last hinting fault; empty before the first fault.
    pub last_fault: Vec<u8>,
    /// Part of the region in each last-level cache after the cache's last touch.
    cached: Vec<Cached>,
    /// Part of the region in the private caches of the core that touched the region last.
    private: Cached,
}

/// Cached part of a region, and the inflow of the cache at that time.
#[derive(Debug, Clone, Copy)]
struct Cached {
    /// Core of private caches; 0 for last-level caches.
    at: u16,
    kib: u32,
    inflow: u64,
}

/// Touch of a part of a region.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Touch {
    pub offset: u64,
    pub bytes: u64,
    pub stride: u32,
    pub pattern: Pattern,
}

/// Cost of a touch in ns by account, and number of pages touched for the first time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TouchCost {
    pub work: Ns,
    pub cache: Ns,
    pub remote: Ns,
    pub bandwidth: Ns,
    pub fault: Ns,
    pub pages: u64,
}

impl Region {
    /// Upper limit of the memory that the simulator needs for a touched region of `bytes` bytes: for each granule its home,
    /// its touched pages and its last fault, and in an address space its marked and its present pages.
    pub fn touched_size(bytes: u64, caches: usize) -> u64 {
        let granules = bytes.div_ceil(PAGE).min(MOST_GRANULES);
        (size_of::<Self>() + caches * size_of::<Cached>()) as u64 + granules * (1 + 4 + 1 + 8 + 4)
    }

    pub fn new(bytes: u64, shared: bool) -> Self {
        let granules = bytes.div_ceil(PAGE).div_ceil(MOST_GRANULES).next_power_of_two();
        let private = Cached { at: u16::MAX, kib: 0, inflow: 0 };
        Self {
            bytes,
            shared,
            shift: PAGE.ilog2() + granules.ilog2(),
            home: Vec::new(),
            touched: Vec::new(),
            populated: 0,
            last_fault: Vec::new(),
            cached: Vec::new(),
            private,
        }
    }

    /// Set the home of newly touched granules to `node`; return the number of pages touched for the first time.
    ///
    /// A granule stores only the number of its touched pages, not the identity of the pages.
    fn first_touch(&mut self, touch: &Touch, node: usize) -> u64 {
        if self.home.is_empty() {
            self.home = vec![UNTOUCHED; self.granule_count()];
            self.touched = vec![0; self.granule_count()];
        }
        let (size, mut pages) = (self.granule_pages(), 0);
        for (granule, number) in self.parts(touch) {
            if self.home[granule] == UNTOUCHED {
                self.home[granule] = node as u8;
            }
            let fresh = size - self.touched[granule];
            let added = fresh.min(number);
            self.touched[granule] += added;
            pages += u64::from(added);
        }
        self.populated += pages;
        pages
    }

    /// Number of pages of a granule.
    pub fn granule_pages(&self) -> u32 {
        1 << (self.shift - PAGE.ilog2())
    }

    pub fn granule_count(&self) -> usize {
        self.bytes.div_ceil(1 << self.shift) as usize
    }

    /// Granules of a touch, with the number of touched pages in each.
    pub fn parts(&self, touch: &Touch) -> impl Iterator<Item = (usize, u32)> + use<> {
        let (bytes, shift) = (self.bytes, self.shift);
        let (mut at, mut left) = (touch.offset % bytes, touch.bytes.max(1));
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let (granule, within) = ((at >> shift) as usize, at & ((1 << shift) - 1));
            let part = left.min((1 << shift) - within).min(bytes - at);
            left -= part;
            at = (at + part) % bytes;
            Some((granule, part.div_ceil(PAGE) as u32))
        })
    }

    fn granules(&self, touch: &Touch) -> impl Iterator<Item = usize> + use<> {
        let total = self.bytes.div_ceil(1 << self.shift);
        let first = (touch.offset % self.bytes) >> self.shift;
        let last = (touch.offset % self.bytes + touch.bytes.max(1) - 1) >> self.shift;
        (first..=last.min(first + total - 1)).map(move |granule| (granule % total) as usize)
    }
}

/// Memory of all nodes.
///
/// A node serves one request at a time, and a request of a CPU waits for the requests that it finds there: as many as the
/// other CPUs have there on average. This is the mean value analysis of closed queueing networks with one customer for each
/// CPU (P. Schweitzer, "Approximate analysis of multiclass closed networks of queues", 1979; Y. Bard, "Some extensions to
/// multiclass queueing network analysis", 1979). CPUs that use a node for half of their time already slow each other, and
/// many CPUs share the bandwidth. The analysis assumes that the times of service vary as exponentially distributed times do;
/// if they vary less, the model's CPUs wait too long: two CPUs that ask for 1.12 times the bandwidth take 1.38 times as long
/// as one, with constant times of service 1.12 times.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    /// Each CPU's last touch of each node's memory.
    traffic: Vec<Vec<Traffic>>,
}

/// A touch that uses a node's memory.
#[derive(Debug, Clone, Copy)]
struct Traffic {
    cpu: usize,
    from: Ns,
    until: Ns,
    /// Mean number of its requests that the node serves or that wait there, in [`WHOLE`]s: at most one.
    present: u64,
}

/// Unit of [`Traffic::present`].
const WHOLE: u64 = 1 << 16;

impl Memory {
    pub fn new(nodes: usize) -> Self {
        Self { traffic: vec![Vec::new(); nodes] }
    }

    /// Forget the last touch of a CPU.
    fn end(&mut self, cpu: usize) {
        self.traffic.iter_mut().for_each(|node| node.retain(|touch| touch.cpu != cpu));
    }

    /// Delay that the traffic of other CPUs causes to requests for `bytes` of a node, which take `alone` ns without traffic,
    /// and the time that the requests are at the node.
    fn queue(&self, node: usize, bytes: u64, alone: Ns, costs: &Costs, at: Ns) -> (Ns, Ns) {
        let service = bytes * 1_000_000_000 / (u64::from(costs.node_bandwidth_mib) << 20);
        let others = self.traffic[node].iter().filter(|other| (other.from..=other.until).contains(&at));
        let waiting = service * others.map(|other| other.present).sum::<u64>() / WHOLE;
        (waiting + service.saturating_sub(alone), waiting + service)
    }

    /// Note a touch from `from` on, for `duration` ns, whose requests are at a node for `at_node` ns.
    fn note(&mut self, node: usize, cpu: usize, at_node: Ns, from: Ns, duration: Ns) {
        let present = (at_node * WHOLE / duration.max(1)).min(WHOLE);
        self.traffic[node].push(Traffic { cpu, from, until: from + duration, present });
    }

    /// Touch a part of a region from a CPU and return the cost. `binding` overrides the node of first touches.
    #[allow(clippy::too_many_arguments, reason = "the arguments are independent")]
    pub fn touch(
        &mut self,
        region: &mut Region,
        touch: &Touch,
        cpu: usize,
        binding: Option<u8>,
        topology: &Topology,
        caches: &mut Caches,
        costs: &Costs,
        (private_kib, llc_kib): (u32, u32),
        now: Ns,
    ) -> TouchCost {
        let place = topology.places[cpu];
        let node = binding.map_or(usize::from(place.node), usize::from);
        let pages = region.first_touch(touch, node);
        // Fetched bytes: complete lines, but not more than the range contains.
        let fetched = (touch.bytes.div_ceil(touch.stride.max(1).into()) * LINE).min(touch.bytes.max(LINE));
        let percent = match touch.pattern {
            Pattern::Sequential => 100,
            Pattern::Random => u64::from(costs.random_percent),
            Pattern::Chase => MISSES_IN_FLIGHT * u64::from(costs.random_percent),
        };
        let region_kib = region.bytes.div_ceil(1024).max(1);
        let kib_1024 = fetched; // 1/1024 KiB
        let remaining = |cached: &Cached, inflow: u64, capacity: u32| {
            let capacity = u64::from(capacity);
            let evicted = inflow - cached.inflow;
            if evicted >= capacity { 0 } else { u64::from(cached.kib) * (capacity - evicted) / capacity }
        };
        let mut private = 0;
        if region.private.at == place.core {
            private = remaining(&region.private, caches.core_kib[usize::from(place.core)], private_kib);
        }
        if region.cached.is_empty() {
            region.cached = vec![Cached { at: 0, kib: 0, inflow: 0 }; caches.cache_kib.len()];
        }
        let cache = usize::from(place.cache);
        let shared = remaining(&region.cached[cache], caches.cache_kib[cache], llc_kib);
        let miss_private = kib_1024 * (region_kib - private.min(region_kib)) / region_kib;
        let beyond = (kib_1024 * (region_kib - shared.min(region_kib)) / region_kib).min(miss_private);
        let scale = |ns_per_kib: u64, kib_1024: u64| ns_per_kib * kib_1024 * percent / 100 / 1024;
        let within = miss_private - beyond;
        let mut cost = TouchCost {
            work: u64::from(costs.touch_kib) * kib_1024 / 1024,
            cache: match touch.pattern {
                Pattern::Chase => costs.llc_line() * within / LINE,
                _ => scale(costs.refill_kib.llc.into(), within),
            },
            fault: pages * u64::from(if region.shared { costs.shared_fault() } else { costs.page_fault }),
            pages,
            ..TouchCost::default()
        };
        if beyond > 0 {
            self.fetch(region, touch, cpu, topology, costs, (beyond, percent), now, &mut cost);
        }
        caches.flow(place.core.into(), cache, miss_private / 1024, beyond / 1024);
        let gained = (miss_private / 1024) as u32;
        let inflow = caches.core_kib[usize::from(place.core)];
        let limit = |kib: u64, capacity: u32| kib.min(capacity.into()).min(region_kib) as u32;
        region.private =
            Cached { at: place.core, kib: limit(private + u64::from(gained), private_kib), inflow };
        region.cached[cache] =
            Cached { at: 0, kib: limit(shared + beyond / 1024, llc_kib), inflow: caches.cache_kib[cache] };
        cost
    }

    /// Add the cost of `beyond` / 1024 KiB from memory, distributed over the nodes as the touched granules are.
    #[allow(clippy::too_many_arguments, reason = "the arguments are independent")]
    fn fetch(
        &mut self,
        region: &Region,
        touch: &Touch,
        cpu: usize,
        topology: &Topology,
        costs: &Costs,
        (beyond, percent): (u64, u64),
        now: Ns,
        cost: &mut TouchCost,
    ) {
        let mut by_node = [0u64; 64];
        let mut granules = 0;
        for granule in region.granules(touch) {
            by_node[usize::from(region.home[granule]) % 64] += 1;
            granules += 1;
        }
        // The CPU serves the faults first.
        let from = now + cost.fault;
        self.end(cpu);
        let mut at_node = [0; 64];
        for node in 0..self.traffic.len() {
            if by_node[node % 64] == 0 {
                continue;
            }
            let part = beyond * by_node[node % 64] / granules;
            let local = u64::from(costs.refill_kib.node) * part * percent / 102_400;
            let distance = topology.memory_distance(cpu, node).max(Distance::Node);
            let total = costs.refill_kib.at(distance) * part * percent / 102_400;
            cost.cache += local.min(total);
            cost.remote += total.saturating_sub(local);
            let (delay, residence) = self.queue(node, part, total, costs, from);
            cost.bandwidth += delay;
            at_node[node % 64] = residence;
        }
        let duration = cost.work + cost.cache + cost.remote + cost.bandwidth;
        for node in (0..self.traffic.len()).filter(|node| at_node[node % 64] > 0) {
            self.note(node, cpu, at_node[node % 64], from, duration);
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/physics/memory.rs"]
mod tests;
