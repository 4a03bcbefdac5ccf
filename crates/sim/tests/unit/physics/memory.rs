use schedlab_workload::program::Pattern;

use super::{Memory, Region, Touch};
use crate::machine::{Topology, machine};
use crate::physics::Caches;

#[test]
fn the_cost_of_a_touch_depends_on_the_node_and_on_the_cached_part() {
    let xeon = machine("xeon-e5-2670v3").unwrap();
    let topology = Topology::new(&xeon);
    let mut caches = Caches::new(&topology, 256, 30_720, xeon.costs.refill_kib, 300);
    let (mut memory, mut region) = (Memory::new(2), Region::new(1 << 20, false));
    let all_bytes = Touch { offset: 0, bytes: 1 << 20, stride: 64, pattern: Pattern::Sequential };
    let mut touch = |cpu, now| {
        memory.touch(
            &mut region,
            &all_bytes,
            cpu,
            None,
            &topology,
            &mut caches,
            &xeon.costs,
            (256, 30_720),
            now,
        )
    };
    // First touch from socket 0: 256 pages; 1024 KiB × 16 ns walked, × 95 ns fetched from the local node.
    let first = touch(0, 0);
    assert_eq!((first.pages, first.fault), (256, 256 * 700));
    assert_eq!((first.work, first.cache, first.remote), (1024 * 16, 1024 * 95, 0));
    // Second touch: 256 of 1024 KiB are in the private caches (of 256 KiB), the rest is in the shared cache: 768 × 40.
    let again = touch(0, 1_000_000);
    assert_eq!((again.pages, again.cache, again.remote), (0, 768 * 40, 0));
    // From the other socket: its caches are cold, and all pages are remote: 95 + 45 per KiB.
    let far = touch(12, 2_000_000);
    assert_eq!((far.pages, far.cache, far.remote), (0, 1024 * 95, 1024 * 45));
}

#[test]
fn a_chase_waits_for_each_line() {
    let mut xeon = machine("xeon-e5-2670v3").unwrap();
    let topology = Topology::new(&xeon);
    let mut time = |pattern, llc_line| {
        xeon.costs.llc_line = llc_line;
        let mut caches = Caches::new(&topology, 256, 30_720, xeon.costs.refill_kib, 300);
        let (mut memory, mut region) = (Memory::new(2), Region::new(1 << 20, false));
        let all = Touch { offset: 0, bytes: 1 << 20, stride: 64, pattern };
        let costs = &xeon.costs;
        let mut touch = || {
            memory.touch(&mut region, &all, 0, None, &topology, &mut caches, costs, (256, 30_720), 0).cache
        };
        (touch(), touch())
    };
    // From memory, then 768 KiB from the last-level cache; a KiB has 16 lines.
    assert_eq!(time(Pattern::Sequential, 21), (1024 * 95, 768 * 40));
    assert_eq!(time(Pattern::Random, 21), (1024 * 95 * 3, 768 * 40 * 3));
    assert_eq!(time(Pattern::Chase, 21), (1024 * 95 * 15, 768 * 16 * 21));
    // Without a latency, half of a line that another core has modified.
    assert_eq!(time(Pattern::Chase, 0).1, 768 * 16 * 22);
}

#[test]
fn a_touch_covers_the_granules_of_its_bytes_and_wraps_at_the_end_of_the_region() {
    let region = Region::new(5 * 4096, false);
    let granules = |offset, bytes| {
        let touch = Touch { offset, bytes, stride: 64, pattern: Pattern::Sequential };
        region.granules(&touch).collect::<Vec<_>>()
    };
    assert_eq!((granules(0, 4096), granules(4096, 8192)), (vec![0], vec![1, 2]));
    assert_eq!((granules(4095, 1), granules(4095, 2)), (vec![0], vec![0, 1]));
    // A touch without bytes covers the granule of its offset.
    assert_eq!((granules(8192, 0), granules(5 * 4096, 1)), (vec![2], vec![0]));
    assert_eq!(granules(4 * 4096, 2 * 4096), vec![4, 0]);
    assert_eq!(granules(4096, 50 * 4096), vec![1, 2, 3, 4, 0]);
}

#[test]
fn requests_wait_for_the_requests_of_other_cpus() {
    let xeon = machine("xeon-e5-2670v3").unwrap();
    let (mut memory, bytes) = (Memory::new(2), 1 << 20);
    // 56000 MiB/s serve 1 MiB in 17857 ns; one core alone needs 97280.
    assert_eq!(memory.queue(0, bytes, 97_280, &xeon.costs, 0), (0, 17_857));
    memory.note(0, 0, 17_857, 1000, 97_280);
    // The first core's requests are at the node for 17857 × 65536 / 97280 = 12030 parts of the time.
    let delay = 17_857 * 12_030 / 65_536;
    assert_eq!(memory.queue(0, bytes, 97_280, &xeon.costs, 1000), (delay, 17_857 + delay));
    // Neither touches of another node nor past or future touches delay a request.
    for (node, at) in [(1, 1000), (0, 999), (0, 98_281)] {
        assert_eq!(memory.queue(node, bytes, 97_280, &xeon.costs, at).0, 0);
    }
    memory.end(0);
    assert_eq!(memory.queue(0, bytes, 97_280, &xeon.costs, 1000).0, 0);
    // A core that alone asks for more than the node's bandwidth waits for itself.
    assert_eq!(memory.queue(1, bytes, 10_000, &xeon.costs, 0), (7857, 17_857));
}

/// Mean time of a sequential read of `bytes` by each of the first `cpus` CPUs of the Xeon, which all read memory of its first
/// node at the same time.
fn read_together(cpus: usize, bytes: u64) -> u64 {
    let mut xeon = machine("xeon-e5-2670v3").unwrap();
    xeon.costs.page_fault = 0;
    let topology = Topology::new(&xeon);
    let mut caches = Caches::new(&topology, 256, 30_720, xeon.costs.refill_kib, 300);
    let mut memory = Memory::new(2);
    let mut regions: Vec<Region> = (0..cpus).map(|_| Region::new(1 << 30, false)).collect();
    let (mut clocks, reads) = (vec![0; cpus], 100);
    for number in 0..reads * cpus as u64 {
        let cpu = (0..cpus).min_by_key(|cpu| clocks[*cpu]).unwrap();
        let offset = number * bytes;
        let touch = Touch { offset, bytes, stride: 64, pattern: Pattern::Sequential };
        let (costs, sizes) = (&xeon.costs, (256, 30_720));
        let cost = memory.touch(
            &mut regions[cpu],
            &touch,
            cpu,
            Some(0),
            &topology,
            &mut caches,
            costs,
            sizes,
            clocks[cpu],
        );
        clocks[cpu] += cost.work + cost.cache + cost.remote + cost.bandwidth;
    }
    clocks.iter().sum::<u64>() / cpus as u64 / reads
}

#[test]
fn many_cpus_share_the_bandwidth_of_a_node() {
    let mib = 1 << 20;
    let times: Vec<u64> = (1..=24).map(|cpus| read_together(cpus, mib)).collect();
    assert!(times.is_sorted(), "more CPUs take longer: {times:?}");
    for (at, time) in times.iter().enumerate() {
        let served = (at as u64 + 1) * 17_857;
        assert!(*time >= served, "{} CPUs read faster than the node serves: {time} ns", at + 1);
    }
    // Few CPUs hardly wait, and many reach the bandwidth but for a twentieth.
    assert!(times[1] < times[0] * 104 / 100 && times[1] > times[0]);
    assert!(times[23] < 24 * 17_857 * 105 / 100);
}

#[test]
fn small_reads_wait_in_proportion_to_their_size() {
    // 12 CPUs ask for twice the bandwidth. A line takes a 4096th of 256 KiB, to the nanosecond.
    let (line, part) = (read_together(12, 64), read_together(12, 256 << 10));
    let expected = part / 4096;
    assert!(line.abs_diff(expected) <= 3, "{line} ns, expected {expected}");
}
