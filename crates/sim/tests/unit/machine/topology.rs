use super::{Distance, Topology};
use crate::machine::machine;

#[test]
fn split_numbering_puts_siblings_half_of_the_cpus_apart() {
    let topology = Topology::new(&machine("xeon-e5-2670v3").unwrap());
    assert_eq!(topology.cpus(), 48);
    assert_eq!(topology.core_cpus(0).iter().collect::<Vec<_>>(), [0, 24]);
    assert_eq!(topology.distance(0, 24), Distance::Core);
    assert_eq!(topology.distance(0, 11), Distance::Llc);
    assert_eq!(topology.distance(0, 12), Distance::Far);
    assert_eq!(topology.node_cpus(1).iter().collect::<Vec<_>>(), (12..24).chain(36..48).collect::<Vec<_>>());
}

#[test]
fn nodes_of_one_socket_are_nearer_than_nodes_of_two_sockets() {
    let topology = Topology::new(&machine("kunpeng920").unwrap());
    let distances = [1, 31, 32, 64].map(|cpu| topology.distance(0, cpu));
    assert_eq!(distances, [Distance::Llc, Distance::Llc, Distance::Near, Distance::Far]);
    assert_eq!(topology.memory_distance(0, 0), Distance::Node);
    assert_eq!(topology.memory_distance(0, 1), Distance::Near);
    assert_eq!(topology.memory_distance(127, 0), Distance::Far);
}
