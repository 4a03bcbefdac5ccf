use super::{Caches, Warmth};
use crate::machine::{Distance, Topology, machine};

#[test]
fn a_footprint_cools_by_the_inflow_after_its_run() {
    // 256 KiB private, 30 MiB shared; refill 40 ns/KiB from the shared cache, 95 from memory, 140 from the other
    // socket's, × 3 for random access.
    let xeon = machine("xeon-e5-2670v3").unwrap();
    let mut caches = Caches::new(&Topology::new(&xeon), 256, 30_720, xeon.costs.refill_kib, 300);
    // Cold: 16 KiB from local memory: 16 × 95 × 3.
    assert_eq!(caches.refill(&Warmth::default(), 16, 0, 0, || Distance::Node), (4560, 0));
    let left = caches.leave(0, 0, 0);
    // No inflow: warm.
    assert_eq!(caches.refill(&left, 16, 0, 0, || Distance::Node), (0, 0));
    // An inflow of 128 KiB, half of 256, evicts 8 KiB; of these 8 × 128 / 30720 = 0 from the shared cache: 8 × 40 × 3.
    caches.flow(0, 0, 128, 128);
    assert_eq!(caches.refill(&left, 16, 0, 0, || Distance::Node), (960, 0));
    // Another core of the socket: all 16 KiB from the shared cache (16 × 128 / 30720 = 0 lost in that cache).
    assert_eq!(caches.refill(&left, 16, 1, 0, || Distance::Node), (1920, 0));
    // The other socket: 16 × 95 × 3 as from memory, and 16 × 45 × 3 more for the distance.
    assert_eq!(caches.refill(&left, 16, 12, 1, || Distance::Far), (4560, 2160));
}
