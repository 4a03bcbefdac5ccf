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
fn requests_share_the_bandwidth_of_a_node() {
    let xeon = machine("xeon-e5-2670v3").unwrap();
    let mut memory = Memory::new(2);
    // 56000 MiB/s serve 1024 KiB in 1024 × 976563 / 56000 = 17857 ns; one core alone needs 97280.
    assert_eq!(memory.queue(0, 1024, 97_280, &xeon.costs, 0), 0);
    for _ in 0..5 {
        memory.queue(0, 1024, 97_280, &xeon.costs, 0);
    }
    // The seventh request waits for 7 × 17857 − 97280.
    assert_eq!(memory.queue(0, 1024, 97_280, &xeon.costs, 0), 7 * 17_857 - 97_280);
    assert_eq!(memory.queue(1, 1024, 97_280, &xeon.costs, 0), 0);
}
