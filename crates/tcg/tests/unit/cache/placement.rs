//! Unit tests of `cache/placement.rs`.

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
